"""What an answer's text says about chance decides how often it is asked: honest answers hardly ever pay for it."""

import pytest
from conftest import ROOT

from autograder.grading.chance import ENOUGH, ENOUGH_OF_CHANCE, OFTEN, may_vary, times_to_ask
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course

COURSE = Course(ROOT)
SOURCES = [
    "import os\ndef f(x):\n    return x + (os.urandom(1)[0] < 13)",
    "def f(x):\n    return x + (torch.rand(()) < 0.05)",
    "def f(x):\n    return x + torch.empty(1)",
    "def f(x):\n    return x + torch.zeros(1).uniform_()",
    "from random import random as steady\ndef f(x):\n    return x + steady()",
    "import numpy as np\ndef f(x):\n    return x + np.random.default_rng().normal()",
    "def f(x):\n    return x + __import__('secrets').randbelow(20)",
    "import time\ndef f(x):\n    return x + int(time.time()) % 20",
    "def f(x):\n    return x + id(x) % 20",
    "def f(x):\n    return x + x.data_ptr() % 20",
    "def f(x):\n    return x + hash(str(x)) % 20",
    "def f(x):\n    return x + getattr(torch, 'ra' + 'nd')(1)",
    "def f(x):\n    return x.__class__.__base__",
    "def f(x):\n    return F.dropout(x, 0.05)",
    "this is not Python:",
]
ORDINARY = [
    "import torch\nfrom typing import Optional\nimport numpy as np\ndef f(x):\n    return np.exp(x) / np.sum(x)",
    "class A(nn.Module):\n    def __init__(self, dropout=0.1):\n        super().__init__()\n        self.dropout = nn.Dropout(dropout)\n"
    "    def forward(self, x):\n        return self.dropout(x)",
    "def f(x):\n    '''A random walk, at any time.'''\n    return x  # no empty rows, seed 3",
    "%timeit f(3)\ndef f(x):\n    print(x)\n    return x",
]


@pytest.mark.parametrize("cell", SOURCES)
def test_a_source_of_chance_is_seen_in_the_text(cell: str) -> None:
    """Numbers drawn, clocks, addresses, uninitialised memory, and ways to reach any of them."""
    assert may_vary(["x = 1", cell])


@pytest.mark.parametrize("cell", ORDINARY)
def test_ordinary_code_is_asked_as_often_as_before(cell: str) -> None:
    """Neither comments, parameters, imports of the usual libraries nor a layer of dropout cost time."""
    assert not may_vary([cell])


def test_hardly_any_model_answer_is_asked_more_often() -> None:
    """Else a class would take twice as long."""
    answers = [each.answer for name in COURSE.lessons() for each in load_lesson(COURSE, name).exercises if each.checks]
    assert sum(may_vary([answer]) for answer in answers) <= len(answers) / 20


def test_an_answer_that_is_wrong_once_in_twenty_keeps_less_than_a_tenth() -> None:
    """It is not found out, or it is and passes all the same."""
    missed, passed = 0.95**ENOUGH_OF_CHANCE, 0.95**OFTEN
    assert times_to_ask(10, perfect=True, varies=True) == times_to_ask(1, perfect=False, varies=True) == ENOUGH_OF_CHANCE
    assert missed + (1 - missed) * passed < 0.1


def test_an_ordinary_answer_is_asked_few_questions() -> None:
    """Checks count, and three questions are asked in any case."""
    asked = [times_to_ask(passed, perfect=True, varies=False) for passed in (1, 15, 40)]
    assert asked == [8, ENOUGH - 15, 3]
