"""A student's pages say what was earned, what is wrong, what to do now and what changed, and stay inert."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_course import LESSON as TINY

from autograder.model.course import Course
from autograder.model.report import BY_CHANGE, Incident, NamedMistake, Outcome
from autograder.reports.student_pages import (
    MOST,
    changes,
    feedback_page,
    notebook_page,
    page_of_one,
    steps,
    student_index,
    titles,
    what_is_pending,
)
from autograder.reports.words import NO_SANDBOX, WORDING
from autograder.storage.gradebook import LessonGrades

from .hostile import HANDLER, Tags
from .sample_class import LESSON, report
from .sample_work import (
    EMPTY,
    MIDDLING,
    PENDING,
    PERFECT,
    UNREADABLE,
    attempt,
    check,
    done,
    hostile_work,
    notebook,
    work,
)


def text(page: str) -> str:
    """Return what a reader sees of a page, in one line."""
    return " ".join(Tags(re.sub(r"(?s)<style.*?</style>", "", page)).text.split())


def test_a_middling_page_says_what_to_start_with_and_why() -> None:
    """The score, what is pending, the first exercise to fix, and the change since the last attempt."""
    said = text(feedback_page(work(MIDDLING)))
    assert "2.5 of 8 points graded, 2 pending" in said
    assert "1 of 4 graded exercises correct." in said
    assert "Start with Exercise 1: softmax , 2 points to gain" in said.replace("softmax,", "softmax ,")
    assert "Since your last attempt: Exercise 2: attention-scores 0 → 2 , Exercise 3" in said.replace("2,", "2 ,")
    assert "2 points count neither for you nor against you" in said


def test_one_pending_point_counts_neither_way() -> None:
    """One point counts; several count."""
    for points, said in ((1, "1 point counts"), (0.5, "0.5 points count"), (2, "2 points count")):
        pending = report([PENDING.model_copy(update={"points": points})])
        assert f"Until then, {said} neither for you" in what_is_pending(pending)


def test_the_exercise_to_start_with_has_most_points_to_gain() -> None:
    """Unanswered or not; of several, it is the first."""
    tried = done("softmax", Outcome.FAILED, 1.5, checks=[check("a", "no")])
    left = [done(name, Outcome.UNANSWERED, 0) for name in ("causal-mask", "padding-mask")]
    said = text(feedback_page(work(report([tried, *left]))))
    assert "Start with Exercise 3: causal-mask" in said


def test_wrong_entries_of_a_dictionary_are_named_at_once() -> None:
    """Also where one message is that of several."""
    checks = [check(name, "This is not the right number.") for name in ("the parameters", "the bytes")]
    for name, unfolded in (("model-numbers", True), ("softmax", False)):
        page = feedback_page(work(report([done(name, Outcome.FAILED, 0, checks=checks)])))
        assert ("<details open><summary class=\"soft\">2 checks fail" in page) == unfolded


def test_a_card_gives_the_evidence_before_the_checks() -> None:
    """The mistake, a hint folded away, the example with its pictures, the code, the causes, what passed."""
    page = feedback_page(work(MIDDLING))
    card = page[page.index('id="exercise-causal-mask"') :]
    order = [
        "The mask is not used", "<details", "Look at the last column.", "causal_mask(2)", "Your result", "<svg",
        "<mark> 1</mark>", "Expected", "<svg", "With these inputs", "Your code", "softmax", "which the mask hides.",
        "3 checks fail for this reason", "2 checks passed",
    ]  # fmt: skip
    at = 0
    for part in order:
        at = card.index(part, at)
    assert card.count("which the mask hides.") == 1


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("Your code raised a NameError in line 3 (`x = y`). Is `y` defined?", "a NameError in line 3<"),
        ("Off by 2.", "Off by 2<"),
        ("word `" + "word " * 40, "word …<"),
    ],
)
def test_the_list_says_in_one_line_what_is_wrong(message: str, shown: str) -> None:
    """The message's first sentence, without the code that it quotes."""
    made = report([done("softmax", Outcome.FAILED, 0, checks=[check("a", message)])])
    page = feedback_page(work(made))
    line = page[page.index('class="why">') :].partition("</span>")[0] + "<"
    assert shown in line
    assert len(line) < 110


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (["a"], "Your results match a known mistake"),
        (["a", "b"], "Your results match these known mistakes, combined"),
        (["a", f"{BY_CHANGE}b"], "What is wrong"),
        (["by-search"], "What is wrong"),
        (["not-allowed"], "Excluded in this exercise"),
    ],
)
def test_only_known_mistakes_are_said_to_match(ids: list[str], said: str) -> None:
    """What the search named by a change is no entry of the catalogue, and what it found is part of the answer."""
    named = [NamedMistake(id=name, title=f"Title of {name}", by_search=name == "by-search") for name in ids]
    page = text(feedback_page(work(report([done("softmax", Outcome.FAILED, 0, misconceptions=named)]))))
    assert f"{said} Title of {ids[0]}" in page


def test_an_error_marks_its_line() -> None:
    """The line that the message names stands out in the code."""
    page = feedback_page(work(MIDDLING))
    assert "An exception was raised in the marked line." in text(page)
    (line,) = re.findall(r'(?s)<span class="hll">.*?return.*?</span>', page)[:1]
    assert ">3<" in line.replace(" ", "")


def test_a_perfect_page_says_so_and_folds_every_exercise() -> None:
    """Nothing is to be done, and each exercise is one row."""
    page = feedback_page(work(PERFECT))
    said = text(page)
    assert "8 of 8 points graded, 2 pending" in said
    assert "All 4 graded exercises correct. Well done." in said
    assert "Wait for your instructor; nothing else is left to do." in said
    assert "What to work on" not in said
    assert page.count("<details id=") == 4
    assert "<details open" not in page


def test_everything_earned_leaves_nothing_to_do() -> None:
    """Once the written answer is graded too."""
    full = PERFECT.with_scores({"why": 2.0})
    assert "Nothing: you have earned all there was to earn." in text(feedback_page(work(full)))


def test_a_score_that_was_given_by_hand_is_told_as_that() -> None:
    """What the checks found stands beside it. An answer that is always graded by hand needs no such word."""
    told = "Your instructor gave this score by hand."
    made = MIDDLING.with_scores({"softmax": 1.25, "why": 2.0})
    assert text(feedback_page(replace(work(MIDDLING), report=made))).count(told) == 1
    assert told not in text(feedback_page(work(MIDDLING)))


def test_extra_credit_is_no_less_than_full_points() -> None:
    """It is counted as correct."""
    above = PERFECT.with_scores({"why": 2.5})
    assert f"All {len(above.exercises)} exercises correct. Well done." in text(feedback_page(work(above)))


def test_an_empty_notebook_has_words_of_its_own() -> None:
    """Unanswered exercises are one list, told once."""
    page = feedback_page(work(EMPTY))
    said = text(page)
    assert "No exercise has an answer yet, so there was nothing to grade." in said
    assert "Write your answer where the cell says YOUR CODE HERE" in said
    assert said.count(WORDING[Outcome.UNANSWERED].sentence) == 1
    assert page.count('class="card') == 1


def test_an_unreadable_file_is_not_a_score() -> None:
    """It says what to do, and shows neither points nor exercises."""
    said = text(feedback_page(work(UNREADABLE)))
    assert "Not graded We could not open this file; nothing was graded." in said
    assert "Open it in JupyterLab, save, and hand it in again." in said
    assert "x.ipynb is not a notebook" in said
    assert "points" not in said
    assert "Exercise" not in said


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_tells_what_happened_and_the_points(outcome: Outcome) -> None:
    """Whatever the outcome, the page has its label, and its sentence unless the checks say more."""
    score = None if outcome.is_pending else 2.0 if outcome is Outcome.PASSED else 0.0
    said = text(feedback_page(work(report([done("softmax", outcome, score)]))))
    assert WORDING[outcome].label in said
    assert outcome is Outcome.PASSED or WORDING[outcome].sentence in said
    assert ("2 pending" in said) == outcome.is_pending


def test_comments_and_lateness_are_told() -> None:
    """Also the comment on an exercise that is correct, outside its fold."""
    page = feedback_page(work(PERFECT, comments={"softmax": "Neat $x^2$."}, late_penalty=1.5))
    assert "6.5 of 8 points graded, 2 pending" in text(page)
    assert "Handed in late: 1.5 points taken off." in text(page)
    assert "Handed in late: 1 point taken off." in text(feedback_page(work(PERFECT, late_penalty=1.0)))
    assert page.index("</details>") < page.index("Neat <math") < page.index('id="exercise-attention-scores"')


def test_late_work_that_is_all_right_is_not_said_to_have_earned_everything() -> None:
    """What is missing was taken off for lateness, and the page says that nothing else is."""
    perfect = report([done(name, Outcome.PASSED, 2) for name in ("softmax", "causal-mask")])
    late, in_time = (text(feedback_page(work(perfect, late_penalty=penalty))) for penalty in (1.0, 0.0))
    assert "Handed in late: 1 point taken off." in late
    assert "Nothing: every exercise has all of its points, and only lateness took some off." in late
    assert "you have earned all there was to earn" not in late
    assert "Nothing: you have earned all there was to earn." in in_time


def test_a_written_answer_stands_in_its_own_words_with_its_formula() -> None:
    """Typeset without a script or a network."""
    page = feedback_page(work(PERFECT))
    card = page[page.index('id="exercise-why"') :]
    assert "since the variance grows" in card
    assert "<msqrt>" in card
    assert "$" not in text(card)


def test_the_checks_titles_and_messages_are_all_there() -> None:
    """Folded or not, none is lost."""
    page = feedback_page(work(MIDDLING))
    for exercise in MIDDLING.exercises:
        for each in exercise.checks:
            assert each.title.replace("`dim`", "<code>dim</code>") in page


def test_a_failed_stretch_exercise_is_explained_and_not_counted() -> None:
    """One that was left alone is only in the list."""
    failed = done("cost", Outcome.FAILED, 0, checks=[check("a", "boom")]).model_copy(update={"points": 0})
    said = text(feedback_page(work(report([*PERFECT.exercises, failed]))))
    assert "All 4 graded exercises correct" in said
    assert "boom" in said
    left = failed.model_copy(update={"outcome": Outcome.UNANSWERED, "checks": []})
    page = feedback_page(work(report([*PERFECT.exercises, left])))
    assert "optional, left as it was" in page
    assert 'id="exercise-cost"' not in page


def test_a_page_from_the_exchange_links_to_no_other_file() -> None:
    """The student gets this one file; elsewhere the notebook and the index lie beside it."""
    links = Tags(feedback_page(work(MIDDLING))).links
    assert {"../index.html", "notebook.html"} == {each for each in links if not each.startswith("#")}
    alone = Tags(feedback_page(work(MIDDLING, is_alone=True))).links
    assert all(each.startswith("#exercise-") for each in alone)


def test_a_notebook_checked_by_itself_gets_a_page_without_a_name() -> None:
    """With the titles of its lesson, and no links to files that nobody wrote."""
    home = Course(Path(__file__).parents[2])
    page = page_of_one(home, MIDDLING, notebook(), sandboxed=True)
    assert "3 · Attention: 2.5 of 8 points graded, 2 pending Feedback 3 · Attention" in text(page)
    assert all(link.startswith("#") for link in Tags(page).links)


def test_every_link_in_the_page_leads_somewhere() -> None:
    """Each row's link has its section."""
    for made in (PERFECT, MIDDLING, EMPTY):
        page = feedback_page(work(made, is_alone=True))
        for link in Tags(page).links:
            assert f'id="{link[1:]}"' in page


def test_hostile_text_stays_text() -> None:
    """No element, handler or style of a submission reaches the page, and the policy allows none."""
    page = feedback_page(hostile_work())
    tags = Tags(page)
    assert not {"script", "iframe", "link"} & set(tags.names)
    assert "src" not in tags.attributes
    assert not {name for name in tags.attributes if name.startswith("on")}
    assert tags.names.count("style") == 1
    assert HANDLER in tags.text
    assert "\x1b" not in page
    policy = re.search(r'Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "default-src 'none'; style-src 'sha256-" in policy[1].replace("&#39;", "'")
    assert "script-src" not in policy[1]
    page.encode()


def test_pictures_that_are_not_drawings_are_left_out() -> None:
    """Only elements that draw are shown."""
    softmax = done("softmax", Outcome.FAILED, 0)
    example = MIDDLING.exercise("causal-mask").example
    assert example is not None
    evil = example.model_copy(update={"pictures": "<svg x><script>alert(1)</script></svg>" * 2})
    page = feedback_page(work(report([softmax.model_copy(update={"example": evil})])))
    assert "alert" not in page
    assert "causal_mask(2)" in page


def test_a_missing_sandbox_is_announced() -> None:
    """The page says so, whatever the state, and only without one."""
    for made in (MIDDLING, UNREADABLE):
        assert NO_SANDBOX in text(feedback_page(work(made, sandboxed=False)))
        assert NO_SANDBOX not in text(feedback_page(work(made)))


def test_a_long_list_of_incidents_is_cut_and_counted() -> None:
    """The page stays readable, however many there are."""
    flood = [Incident(exercise=None, kind="open", message=f"no {n}") for n in range(MOST + 30)]
    page = feedback_page(work(MIDDLING.model_copy(update={"incidents": flood})))
    assert "and 30 more" in page
    assert f"no {MOST}<" not in page


COURSE = Course(Path(__file__).parents[2])


def page(grades: dict[str, LessonGrades], **lessons: list[object]) -> Tags:
    """Return the index of a student."""
    return Tags(student_index(COURSE, "a<b", lessons, grades))


def test_lessons_attempts_and_differences_are_listed() -> None:
    """The newest attempt first, with the exercises whose scores changed."""
    made = {LESSON: [attempt(EMPTY, "a"), attempt(MIDDLING, "b", 2), attempt(PERFECT, "c", 3)]}
    shown = page({}, **made)
    said = " ".join(shown.text.split())
    assert shown.links == [f"{LESSON}/{LESSON}.html"]
    to_fix = page({}, **{LESSON: made[LESSON][:2]}).links[1:]
    assert to_fix == [f"{LESSON}/{LESSON}.html#exercise-{name}" for name in ("softmax", "causal-mask", "padding-mask")]
    assert said.index("Attempt 3") < said.index("Attempt 2") < said.index("Attempt 1")
    assert "graded on 3 March 2026: 8 of 8 points graded, 2 pending" in said
    assert "0.5 → 2" in said
    assert "3 · Attention" in said


def test_the_newest_score_is_the_gradebooks() -> None:
    """With scores given by hand, and less what was taken off for lateness."""
    grades = {LESSON: LessonGrades(scores={"why": 1.5}, late_penalty=0.5)}
    said = " ".join(page(grades, **{LESSON: [attempt(PERFECT, "a")]}).text.split())
    assert "9 of 10 points so far, in 1 lesson." in said
    assert "handed in late, 0.5 points taken off" in said
    assert "Attempt 1," not in said  # the table says all there is to say of one attempt


def test_an_earlier_attempt_waits_for_nobody() -> None:
    """What a person gave is kept for the newest one alone, and an earlier one is never graded by hand again."""
    made = [attempt(MIDDLING, "a"), attempt(PERFECT, "b", 2)]
    said = " ".join(page({LESSON: LessonGrades(scores={"why": 1.5})}, **{LESSON: made}).text.split())
    assert "Attempt 2, graded on 2 March 2026: 9.5 of 10 points" in said
    assert " of 8 points, without what is graded by hand" in said
    assert "pending" not in said


def test_an_attempt_with_a_lower_total_than_before_says_why() -> None:
    """The newest one has the same scores, less what was taken off."""
    made = [attempt(PERFECT, "a"), attempt(PERFECT, "b", 2)]
    said = " ".join(page({LESSON: LessonGrades(late_penalty=8.0)}, **{LESSON: made}).text.split())
    assert "0 of 8 points graded, 2 pending (handed in late, 8 points taken off) No score changed." in said
    assert said.count("taken off") == 2


def test_a_lesson_that_was_not_graded_is_told_and_not_counted() -> None:
    """An unreadable file is no zero."""
    shown = page({}, **{LESSON: [attempt(UNREADABLE, "a")], "04_x": [attempt(PERFECT, "b")]})
    said = " ".join(shown.text.split())
    assert "8 of 8 points graded, 2 pending so far, in 2 lessons." in said
    assert "unreadable" in said


def test_names_are_escaped() -> None:
    """A name is text, wherever it stands."""
    assert "All lessons of a<b" in page({}, **{LESSON: [attempt(PERFECT, "a")]}).text


def test_it_shows_the_lesson_and_every_answer_with_its_points() -> None:
    """Each answer links to what the feedback says about it."""
    page = notebook_page(work(MIDDLING))
    tags = Tags(page)
    assert "Scale by <math" in page
    assert page.count('class="cell answer"') == len(MIDDLING.exercises)
    assert f"{LESSON}.html#exercise-causal-mask" in tags.links
    assert "0.5 of 2 points" in tags.text
    assert "2 points pending" in tags.text
    assert "# Summary" not in tags.text


def test_nothing_hostile_gets_through() -> None:
    """No script, no handler, one style sheet."""
    tags = Tags(notebook_page(hostile_work()))
    assert not {"script", "iframe", "link"} & set(tags.names)
    assert "src" not in tags.attributes
    assert not {name for name in tags.attributes if name.startswith("on")}
    assert tags.names.count("style") == 1


def test_titles_are_the_texts_headings_without_the_points(course: Course) -> None:
    """Code and written exercises alike."""
    found = titles(course, TINY)
    assert found.lesson == "A tiny lesson"
    assert found.exercises == {
        "double": "Exercise 1: double it",
        "halve": "Exercise 2: halve it",
        "why": "Exercise 3: why",
    }


def test_without_a_text_ids_stand_for_titles(tmp_path: Path) -> None:
    """A course may hold the released notebooks alone."""
    found = titles(Course(tmp_path), TINY)
    assert found.lesson == TINY
    assert found.exercise("double") == "`double`"


def test_every_real_exercise_has_a_title() -> None:
    """In all lessons of this course."""
    course = Course(Path(__file__).parents[2])
    for lesson in course.lessons():
        found = titles(course, lesson)
        assert " · " in found.lesson
        assert all(name.startswith(("Exercise ", "Stretch")) for name in found.exercises.values()), lesson


def test_the_same_file_graded_again_is_one_attempt() -> None:
    """The newest of its gradings counts; the same file later is an attempt of its own."""
    made = steps([attempt(EMPTY, "a"), attempt(MIDDLING, "a"), attempt(PERFECT, "b"), attempt(MIDDLING, "a")])
    assert [step.number for step in made] == [1, 2, 3]
    assert [step.attempt.report for step in made] == [MIDDLING, PERFECT, MIDDLING]
    assert made[0].changes == []


def test_only_scores_that_differ_are_told_in_the_lessons_order() -> None:
    """Up, down, and pending."""
    before = report([done("softmax", Outcome.FAILED, 1.5), done("causal-mask", Outcome.PASSED, 2)])
    after = report([done("softmax", Outcome.PASSED, 2), done("causal-mask", Outcome.GRADER_ERROR, None)])
    up, pending = changes(before, after)
    assert (str(up), up.tone) == ("1.5 → 2", "good")
    assert (str(pending), pending.tone) == ("2 → pending", "")
    assert changes(after, after) == []
    words = report([done("softmax", Outcome.PASSED, 2), done("why", Outcome.BY_HAND, None)])
    (new,) = changes(words, words, {"softmax", "why"})  # only what a person grades
    assert (new.exercise, str(new), new.tone) == ("why", "a new answer", "")


def test_a_file_that_could_not_be_opened_lost_no_points() -> None:
    """Neither before it nor after it is a difference told."""
    assert changes(PERFECT, UNREADABLE) == []
    assert changes(UNREADABLE, PERFECT) == []


def test_an_unreadable_attempt_after_a_graded_one_does_not_undo_it_in_words() -> None:
    """The attempt before it was graded, and is listed with its points."""
    said = " ".join(page({}, **{LESSON: [attempt(PERFECT, "a"), attempt(UNREADABLE, "b", 2)]}).text.split())
    assert "None of the newest attempts is graded so far, in 1 lesson." in said
    assert "8 of 8 points, without what is graded by hand" in said
