"""What the text of an answer may hold where its exercise excludes functions, and what it may not."""

from pathlib import Path

import pytest
from attacks import attacks, refused_by_text

from autograder.lessons.loading import load_lesson
from autograder.model.course import Course, package_of
from autograder.search.right_answers import right_answers
from coursework.source_rules import LONGEST, first_refusal, odd_names

TESTS = Path(__file__).parents[1]
COURSE = Course(TESTS.parent)

REFUSED = {
    "torch.ops.aten.softmax.int(x, -1)": "uses `torch.ops`",
    "torch._C._nn.gelu(x)": "uses `torch._C`",
    "from torch import _C as c": "imports `torch._C`",
    "import torch._refs": "imports `torch._refs`",
    "import torch.utils._python_dispatch": "imports `torch.utils._python_dispatch`",
    "from torch import library": "imports `torch.library`",
    "import torch as t\nt.library.Library": "uses `t.library`",
    "t = torch\nt.library.Library": "uses `t.library`",
    "f(torch)": "uses the module `torch` as a value",
    "[nn.functional][0]": "uses the module `nn.functional` as a value",
    "nn.modules.activation.torch.library.Library": "uses `nn.modules.activation.torch.library`",
    "torch.sys.modules": "uses `torch.sys.modules`",
    "getattr(torch, '_C')": "uses `torch._C`",
    "getattr(torch, 'li' + 'brary')": "calls `getattr` with a computed name",
    "getattr(f, '__glo' + 'bals__')": "calls `getattr` with a computed name",
    "k = '__glo' + 'bals__'\ngetattr(f, k)": "calls `getattr` with a computed name",
    "functools.reduce(getattr, ['library'], f)": "uses `getattr` as a value",
    "import operator\noperator.attrgetter('library')": "uses `operator.attrgetter`",
    "from operator import attrgetter": "imports `operator.attrgetter`",
    "match f:\n    case object(__globals__=g): pass": "reads `__globals__`",
    "f.__globals__": "uses `.__globals__`",
    "().__class__.__base__.__subclasses__()": "uses `.__subclasses__`",
    "exec('1')": "uses `exec`",
    "__builtins__['ex' + 'ec']": "uses `__builtins__`",
    "vars(torch)['library']": "uses the module `torch` as a value",
    "globals()['f']": "uses `globals`",
    "import sys\nsys._getframe()": "uses `sys._getframe`",
    "import sys\nsys.modules": "uses `sys.modules`",
    "import gc\ngc.get_objects()": "uses `gc.get_objects`",
    "import ctypes": "imports `ctypes`",
    "import scipy.special": "imports `scipy.special`",
    "import yaml\nyaml.load(f)": "uses `yaml.load`",
    "import a_file_of_my_own": "imports `a_file_of_my_own`",
    "import pickle\npickle.load(f)": "uses `pickle.load`",
    "import multiprocessing\nmultiprocessing.Pool()": "uses `multiprocessing.Pool`",
    "import numpy.ctypeslib": "imports `numpy.ctypeslib`",
    "from transformers import BertModel": "imports `transformers.BertModel`",
    "from os import *": "imports `os.*`",
    "torch.softmax = f": "replaces `torch.softmax`",
    "nn.Module.forward = f": "replaces `nn.Module.forward`",
    "setattr(nn.Module, 'forward', f)": "replaces something in `nn.Module`",
    "torch.load(f, weights_only=False)": "passes `weights_only=False`",
    "import timeit\ntimeit.timeit('import ctypes')": "imports `ctypes`",
    "import timeit\ntimeit.timeit('import ' + 'ctypes')": "runs text as code with `timeit`",
    "%time import ctypes": "imports `ctypes`",
    "%timeit -n 3 exec(s)": "uses `exec`",
    "%cd {s}": "runs text as code with `%cd`",
    "%%who\nimport ctypes": "imports `ctypes`",
    "%%time\nimport ctypes": "imports `ctypes`",
    "shell = get_ipython()\nshell.ex('1')": "uses `get_ipython()` as a value",
    "def unused(exec): pass\nexec('1')": "uses `exec`",
    "class N:\n    __globals__ = None\nx.__globals__": "uses `.__globals__`",
    "from torch.nn.functional import *\nimportlib.import_module": "uses `importlib.import_module`",
    "getattr(torch, 'nn').attention.flex_attention": "uses `getattr(torch, 'nn').attention`",
    "import torch as t\ndef f():\n    import math as t\nt.ao": "uses `t.ao`",
    "import math as t\ndef f():\n    import torch as t\nt.ao": "uses `t`, which is the name of two modules",
    "torch.nested.nested_tensor([x])": "uses `torch.nested`",
    "from dataclasses import inspect\ninspect.getmembers(f)": "uses `inspect.getmembers`",
    "import timeit\ns = 'import ctypes'\ntimeit.timeit(s)": "runs text as code with `timeit`",
    "from IPython.core.interactiveshell import InteractiveShell as S": "imports from `IPython.core.interactiveshell`",
    "breakpoint('torch._refs')": "uses `breakpoint` with arguments",
    "np.load(f, allow_pickle=yes)": "passes `allow_pickle=yes`",
    "def f(x: 'exec(1)'): pass": "uses `exec`",
    "os.environ['TORCHDYNAMO_DISABLE'] = '0'": "uses `TORCHDYNAMO_DISABLE`",
    "class T(torch.Tensor):\n    def __torch_dispatch__(c, f, t, a, k): pass": "defines `__torch_dispatch__`",
    "from torch.distributions import Categorical": "imports from `torch.distributions`",
    "import pickle\npickle.loads(b'')": "uses `pickle.loads`",
    "here = %pwd\nimport ctypes": "imports `ctypes`",
    "get_ipython().run_cell('1')": "uses `get_ipython().run_cell`",
    "get_ipython().run_line_magic('time', s)": "uses `get_ipython().run_line_magic`",
    "g = get_ipython": "uses `get_ipython` as a value",
    "import pandas as pd\npd.eval('1')": "",
    "frame.query('a > 1')": "uses `.query`",
    "#" * (LONGEST + 1): f"is in a cell of more than {LONGEST:,} characters",
}
ALLOWED = r"""
    import timeit; print(timeit.timeit(lambda: softmax(x), number=10))
    from torch.utils.benchmark import Timer; print(Timer('softmax(x)', globals=globals()).timeit(10))
    import time; start = time.perf_counter(); softmax(x); print(time.perf_counter() - start)
    %%timeit\nsoftmax(x)
    %config InlineBackend.figure_format = 'retina'
    %load_ext autoreload\n%autoreload 2
    print(softmax(x).grad_fn)
    x.requires_grad_(); softmax(x).sum().backward(); print(x.grad)
    x.register_hook(print)
    ops = ['add', 'sub']\nfor op in ops: print(op)
    engine = 'torch'; mock = torch.ones(3); print(engine, mock)
    frame = {'export': 1, 'library': 2}; print(frame['export'])
    from dataclasses import dataclass\n@dataclass\nclass Engine:\n    ops: int = 0\nEngine().ops
    from collections import namedtuple\nP = namedtuple('P', 'ops engine'); print(P(1, 2).ops)
    import sys; sys.setrecursionlimit(5000); sys.path.append('..'); print(sys.version)
    import numpy as np; np.random.seed(0); np.testing.assert_allclose(softmax(x).numpy(), 1)
    import random; random.seed(0); torch.manual_seed(0)
    torch.set_printoptions(precision=3, sci_mode=False)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    assert torch.allclose(softmax(x), torch.softmax(x, -1))
    from torch.testing import assert_close; assert_close(softmax(x), torch.softmax(x, -1))
    help(softmax); print(softmax.__doc__, softmax.__name__, type(x).__name__, x.__class__); dir(x)
    print('softmax' in globals())
    import warnings, logging; warnings.filterwarnings('ignore'); logging.basicConfig(level=logging.INFO)
    try:\n    softmax(None)\nexcept Exception as e:\n    print(type(e), e)
    import traceback\ntry:\n    softmax(None)\nexcept Exception:\n    traceback.print_exc()
    from IPython.display import display, HTML; display(x)
    from functools import lru_cache, partial, reduce; reduce(lambda a, b: a + b, [1, 2])
    import pandas as pd; pd.DataFrame(x.numpy()).plot(); pd.read_csv('scores.csv')
    import seaborn as sns; sns.heatmap(x)
    with open('notes.txt', 'w') as out: out.write('hello')
    import pickle; pickle.dump(x, open('x.pkl', 'wb'))
    torch.save(x, 'x.pt'); torch.load('x.pt')
    import copy, json; y = copy.deepcopy(x); print(json.dumps({'a': 1}))
    import operator; operator.itemgetter(1)([1, 2])
    print(nn.Sequential(nn.Linear(2, 2), nn.Softmax(-1)))
    print(torch.__version__, torch.__config__.show())
    with torch.profiler.profile() as prof: softmax(x)
    name = 'shape'; getattr(x, name); getattr(x, 'shape')
    print(f'{x=} {softmax(x).sum(dim=-1)=}', '{0.shape}'.format(x))
    from tqdm.auto import tqdm\nfor i in tqdm(range(3)): pass
    import tracemalloc; tracemalloc.start()
    import faulthandler; faulthandler.enable()
    import multiprocessing; print(multiprocessing.cpu_count())
    import yaml; print(yaml.__version__)
    import click, jinja2 as j
    breakpoint()
    %debug
    %prun softmax(x)
    if __name__ == '__main__': print(1)
    # torch._C, ctypes and exec
    '''Not by torch._C, nor by ctypes.'''
    _c = 1; gc_count = 2; d_C = 3
    torch.compile(f); model.eval(); print(re.compile('x'))
    library = {}; state = library; self._state = state; self._state
    class A:\n    ops = 3\n    def f(self): return self.ops
    self.register_buffer('_mask', m); self._mask
    getattr(self, name)
    getattr(layer, f'w_{n}')
    for n in ('w_q', 'w_k'): getattr(layer, n)
    vars(self)
    self.__dict__['x'] = 1
    from timeit import timeit; timeit('softmax(x)', globals=globals(), number=3)
    from itertools import repeat; list(repeat((1, 2), 3))
    x.repeat(len(ids), 1, 1)
    import gc; gc.collect()
    import os; os.system('true')
    torch.backends.cudnn.deterministic = True
    torch.autograd.gradcheck(f, x)
    print(torch.__version__); print(torch)
    from transformers import AutoTokenizer
    def broken(:
    import inspect; print(inspect.getsource(softmax))
    torch.func.vmap(f)(x)
    words = ['the', 'library', 'opens']
    @torch.no_grad()\ndef f(x): return x
    @torch.jit.script\ndef f(x): return x
    %timeit torch.compile(f)
    !pip install einops
    %matplotlib inline
    softmax?
    %time results = {n: f(n) for n in range(3)}
    %load_ext nb_black
    %run mine.py
    import pickle, pdb, ast
    import os; os.path.join('a', 'b')
    'google.colab' in sys.modules
    if 'torch' not in globals(): x = 1
    get_ipython().__class__.__name__
    from IPython.core.interactiveshell import InteractiveShell; InteractiveShell.ast_node_interactivity = 'all'
    layer._modules.items()
    getattr(layer, 'norm' + str(i))
    def __init__(self, a): self.__dict__.update(locals())
    def test_gradient():\n    softmax(x).sum().backward()
    super().__getattr__(name)
"""
DERIVATIVES = {
    "def f(x):\n    return torch.autograd.grad(x.sum(), x)": "grad",
    "def f(x):\n    x.sum().backward()": "backward",
    "f = lambda x: x.grad_fn(x)": "grad_fn",
    "g = torch.func.grad(h)": "grad",
    "from torch.func import jacrev": "jacrev",
    "from torch.autograd import grad as g\ndef f(x):\n    return g(x)": "g",
    "g = torch.autograd.grad": "grad",
    "import functools\nfunctools.partial(torch.autograd.grad, y)": "grad",
}
TRIED_OUT = [
    "softmax(x).sum().backward()\nprint(x.grad)",
    "g, = torch.autograd.grad(softmax(x).sum(), x)",
    "print(softmax(x).grad_fn)\nassert softmax(x).grad_fn is not None",
    "def f(x):\n    print(x.grad_fn, x.requires_grad)\n    return x",
    "def f(x):\n    with torch.no_grad():\n        return x.exp()",
]


def _says(source: str, *, derivatives: bool = False) -> str:
    refusal = first_refusal([source], derivatives=derivatives)
    return refusal.what if refusal else ""


@pytest.mark.parametrize("source", REFUSED)
def test_what_leads_out_of_the_ordinary_language_is_refused(source: str) -> None:
    """The refusal says what the line does."""
    assert _says(source) == REFUSED[source]


@pytest.mark.parametrize("source", [line.strip().replace("\\n", "\n") for line in ALLOWED.strip().splitlines()])
def test_ordinary_notebook_code_is_not(source: str) -> None:
    """Names count where they are reached from a module, not in strings, comments or objects of one's own."""
    assert _says(source, derivatives=True) == ""


@pytest.mark.parametrize("source", DERIVATIVES)
def test_a_derivative_is_refused_where_an_answer_could_use_it(source: str) -> None:
    """Only where the exercise excludes derivatives."""
    assert _says(source, derivatives=True) == f"asks torch for a derivative (`{DERIVATIVES[source]}`)"
    assert _says(source) == ""


@pytest.mark.parametrize("source", TRIED_OUT)
def test_an_answer_may_be_tried_out_below_its_definition(source: str) -> None:
    """Gradients may be looked at, and asked for at the top level of a cell."""
    assert _says(source, derivatives=True) == ""


def test_a_refusal_names_the_line_of_the_cell_as_it_was_written() -> None:
    """Also below empty lines and magics, and in another cell than the answer's."""
    refusal = first_refusal(["\n\n%time\nimport ctypes", "x = 1"])
    assert refusal is not None
    assert refusal.place == "Line 4 of the cell that begins with `%time`"
    own = first_refusal(["x = 1", "%%time\ny = 2\nimport ctypes"])
    assert own is not None
    assert own.place == "Line 3"


def test_what_one_cell_defines_is_known_in_the_others() -> None:
    """A private method of a helper class is the answer's own."""
    helper = "class Helper:\n    def _scale(self, x):\n        return x"
    assert first_refusal([helper, "h = Helper()\nh._scale(x)"]) is None
    assert first_refusal(["h = Helper()\nh._scale(x)"]) is not None


def test_special_names_in_strings_are_odd() -> None:
    """They are pointed out to the instructor; what every module has is not."""
    assert odd_names("x = ['__globals__', '_C', '__main__', 'library', '_softmax']") == ["_C", "__globals__", "_softmax"]


def test_a_deeply_nested_cell_is_left_to_the_interpreter() -> None:
    """It is no answer either."""
    assert first_refusal(["(" * 5000]) is None


def test_no_right_answer_in_an_unusual_form_is_refused() -> None:
    """Of exercises that exclude something."""
    found = {}
    for name in COURSE.lessons():
        lesson = load_lesson(COURSE, name)
        for exercise, cells in right_answers(package_of(name)).items():
            excludes = lesson[exercise].excludes
            for number, cell in enumerate(cells if excludes else ()):
                refusal = first_refusal([cell], derivatives=excludes.derivatives)
                if refusal:
                    found[exercise, number] = refusal.what
    assert found == {}


def test_a_detour_is_refused_by_its_text_if_the_table_says_so() -> None:
    """Most are, and are never run; tests/sandbox/test_excluded.py hands in the others."""
    wrong = [each.name for each in attacks() if refused_by_text(each) is not (each.stopped == "text")]
    assert wrong == []
    assert sum(each.stopped == "text" for each in attacks()) > 110
