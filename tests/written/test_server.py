"""The server of written answers: who may grade, what is stored, and what two people at once are told."""

import re
from contextlib import suppress

import pytest
from reports.hostile import NASTY, Tags
from tiny_course import LESSON
from tiny_fixtures import ReadGrades

from autograder.model.course import Course
from autograder.storage.class_list import Listed, add_students, remove_student
from autograder.storage.gradebook import comments_by_hand, open_gradebook

from .conftest import ANSWERS, QUESTION, Browser, record, record_unreadable

NOTHING = (None, None, True)
GIVE_ALL = {"points": "2.0", "comment": "", "digest": "", "was_points": "", "was_comment": ""}


def comment_on(course: Course, student: str) -> str:
    """Return the comment in the gradebook."""
    with open_gradebook(course) as book:
        return comments_by_hand(book, LESSON).get(student, {}).get("why", "")


def test_points_and_comment_reach_the_gradebook(browse: Browser, grades: ReadGrades, handed_in: Course) -> None:
    """As formgrader would write them; the next ungraded answer follows, and says what was given."""
    page = browse.grade("ada", points="1.5", comment="Name the inverse.\r\nAnd say why: $x$.")
    assert grades("ada")["why"] == (None, 1.5, False)
    assert comment_on(handed_in, "ada") == "Name the inverse.\nAnd say why: $x$."
    assert "1 of 3 graded" in page.text
    assert "<h1>bela</h1>" in page.text
    assert "ada:\n<strong>1.5 of 2</strong>, with a comment" in page.text


def test_the_page_has_all_that_a_grader_needs(browse: Browser) -> None:
    """The question once, the answer, the mark scheme, the model answer, and a key for each score."""
    text = browse.request(browse.place("emil")).text
    assert text.count(QUESTION) == 1
    assert "an inverse is named" in text
    assert "Halving undoes it." in text
    assert "<math" in text
    for score, key in (("0.0", "0"), ("0.25", "q"), ("0.5", "w"), ("1.0", "1"), ("1.75", "y"), ("2.0", "2")):
        assert f'name="points" value="{score}"' in text
        assert f'data-key="{key}"' in text


def test_an_answer_whose_question_was_edited_is_shown_whole(browse: Browser, handed_in: Course) -> None:
    """Nothing that a student wrote is taken for the question."""
    record(handed_in, "ada", f"{QUESTION} (I was asked.) Because.")
    assert browse.request(browse.place("ada")).text.count(QUESTION) == 2


@pytest.mark.parametrize("points", ["2.25", "3.0", "-1.0", "nan", "inf", "1e0", "0.3", "two"])
def test_points_out_of_range_are_refused(browse: Browser, grades: ReadGrades, points: str) -> None:
    """Only what the page offers is stored."""
    assert browse.grade("ada", points=points).status == 400
    assert grades("ada")["why"] == NOTHING


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "example.org"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1.example.org:80"},
        {"Origin": "http://example.org"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
    ],
)
def test_other_pages_are_refused(browse: Browser, grades: ReadGrades, headers: dict[str, str]) -> None:
    """Even one that knows the token: by its origin, and, if its name leads here, by its host."""
    place = browse.place("ada")
    assert browse.request(place, **headers).status == 403
    assert browse.request(place, GIVE_ALL, **headers).status == 403
    assert grades("ada")["why"] == NOTHING


def test_a_form_without_an_origin_is_refused(browse: Browser, grades: ReadGrades) -> None:
    """Each browser sends one with a form."""
    assert browse.request(browse.place("ada"), GIVE_ALL, Origin="").status == 403
    assert grades("ada")["why"] == NOTHING


@pytest.mark.parametrize("token", ["", "x", "x" * 43])
def test_without_the_token_nothing_is_shown(browse: Browser, grades: ReadGrades, token: str) -> None:
    """Neither a page nor a picture, and no hint at what there is."""
    place = browse.place("ada")
    for path in (f"/{token}/", f"/{token}/{place}", f"/{token}/{LESSON}/images/x.svg", "/", "/favicon.ico"):
        reply = browse.request(path)
        assert (reply.status, "autograder written" in reply.text) == (403, True)
        assert "ada" not in reply.text
    assert browse.request(f"/{token}/{place}", GIVE_ALL).status == 403
    assert grades("ada")["why"] == NOTHING


def test_every_reply_forbids_scripts_frames_and_copies(browse: Browser) -> None:
    """Pages and refusals alike; nothing says which program answers, and no cookie is set."""
    for path in ("", browse.place("ada"), "nothing/here", "/x/"):
        headers = browse.request(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "same-origin"
        assert not {"Server", "Set-Cookie"} & set(headers)


def test_what_a_student_writes_is_inert(browse: Browser, handed_in: Course) -> None:
    """No script but ours, no handler, no form of its own, no picture from elsewhere."""
    attack = '<form action="//x"><button name=points data-key="1">x</button></form><img src="http://x/y.png">'
    before = Tags(browse.request(browse.place("bela")).text)
    record(handed_in, "bela", f"{NASTY}\n\n{attack}\n\n<base href=//x><style>*{{}}</style>".replace("\udc80", ""))
    after = Tags(browse.request(browse.place("bela")).text)
    for tag in ("script", "form", "style", "base", "button", "textarea", "iframe"):
        assert after.names.count(tag) == before.names.count(tag)
    assert "img" not in after.names
    assert not [name for name in after.attributes - before.attributes if name.startswith(("on", "data"))]


def test_what_an_instructor_writes_is_inert_too(browse: Browser) -> None:
    """A comment is shown as the text that it is."""
    browse.grade("ada", points="1.0", comment="</textarea><script>alert(1)</script>")
    for place in ("", browse.place("ada")):
        assert "<script>alert" not in browse.request(place).text


def test_pictures_of_the_lesson_are_shown_and_no_other_file(browse: Browser, handed_in: Course) -> None:
    """By their names alone: nothing beside them, and nothing above."""
    folder = handed_in.release / LESSON / "images"
    folder.mkdir()
    (folder / "heads.svg").write_text("<svg/>")
    (folder.parent / "key.txt").write_text("secret")
    reply = browse.request(f"{LESSON}/images/heads.svg")
    assert (reply.status, reply.text, reply.headers["Content-Type"]) == (200, "<svg/>", "image/svg+xml")
    assert reply.headers["Content-Security-Policy"].startswith("default-src 'none'")
    for path in ("images/../key.txt", "images/%2e%2e/key.txt", "images/..%2fkey.txt", "images/", "images/none.svg"):
        assert browse.request(f"{LESSON}/{path}").status == 404


def test_long_comments_and_large_forms_are_refused(browse: Browser, grades: ReadGrades, handed_in: Course) -> None:
    """The longest comment in the widest letters fits."""
    assert browse.grade("ada", points="1.0", comment="x" * 10_001).status == 400
    assert grades("ada")["why"] == NOTHING
    assert browse.grade("ada", points="1.0", comment="𝛼" * 10_000).status == 200
    assert len(comment_on(handed_in, "ada")) == 10_000
    with suppress(ConnectionError):  # what is too large is not read to its end
        assert browse.request(browse.place("bela"), {"points": "1.0", "x": "x" * 200_000}).status == 400
    assert grades("bela")["why"] == NOTHING


def test_the_last_of_two_wins_and_reads_what_it_replaced(browse: Browser, grades: ReadGrades) -> None:
    """Both opened the answer before either graded it."""
    shown = browse.request(browse.place("ada"))
    browse.grade("ada", shown, points="0.5", comment="Too short.")
    page = browse.grade("ada", shown, points="2.0", comment="Good.")
    assert grades("ada")["why"] == (None, 2.0, False)
    assert "Somebody else had graded this answer since you opened it." in page.text
    assert "it replaced: 0.5 and “Too short.”" in page.text


def test_what_one_person_left_alone_stays(browse: Browser, grades: ReadGrades, handed_in: Course) -> None:
    """Moving on writes nothing, and points leave a comment that came in between as it is."""
    shown = browse.request(browse.place("ada"))
    browse.grade("ada", shown, points="0.5", comment="Too short.")
    page = browse.grade("ada", shown, go="next")
    assert "Somebody else" not in page.text
    assert "<h1>bela</h1>" in page.text
    assert grades("ada")["why"] == (None, 0.5, False)
    browse.grade("ada", shown, points="1.0")
    assert comment_on(handed_in, "ada") == "Too short."


def test_a_comment_is_stored_on_moving_on(browse: Browser, grades: ReadGrades, handed_in: Course) -> None:
    """Without points, the answer stays pending."""
    page = browse.grade("bela", go="previous", comment="I'll ask.")
    assert "<h1>ada</h1>" in page.text
    assert comment_on(handed_in, "bela") == "I'll ask."
    assert grades("bela")["why"] == NOTHING


def test_points_can_be_taken_back(browse: Browser, grades: ReadGrades) -> None:
    """The answer is pending again, and is shown again."""
    browse.grade("ada", points="2.0")
    page = browse.grade("ada", points="")
    assert grades("ada")["why"] == NOTHING
    assert "<h1>ada</h1>" in page.text
    assert "0 of 3 graded" in page.text


def test_an_answer_that_was_replaced_is_not_graded_unread(
    browse: Browser, grades: ReadGrades, handed_in: Course
) -> None:
    """The new answer is shown instead, with what was typed."""
    shown = browse.request(browse.place("ada"))
    record(handed_in, "ada", "I take it all back.")
    page = browse.grade("ada", shown, points="2.0", comment="Well said.")
    assert page.status == 409
    assert "nothing was saved" in page.text
    assert "I take it all back." in page.text
    assert "Well said.</textarea>" in page.text
    assert grades("ada")["why"] == NOTHING
    browse.grade("ada", page, points="1.0", comment="Well said.")
    assert grades("ada")["why"] == (None, 1.0, False)
    assert comment_on(handed_in, "ada") == "Well said."


@pytest.mark.parametrize(
    ("happened", "why"),
    [
        ("unreadable", "ada has handed in a file that could not be graded."),
        ("left out", "ada has handed in again, without this answer."),
        ("removed", "ada was removed from the class."),
    ],
)
def test_an_answer_that_is_gone_leads_to_the_next_and_keeps_the_comment(
    browse: Browser, handed_in: Course, happened: str, why: str
) -> None:
    """The page of the next answer says what became of this one, with the comment as text, not in the form."""
    place, shown = browse.place("ada"), browse.request(browse.place("ada"))
    if happened == "removed":
        remove_student(handed_in, "ada")
    elif happened == "left out":
        record(handed_in, "ada", None)
    else:
        record_unreadable(handed_in, "ada")
    form = {key: shown.field(key) for key in ("digest", "was_points", "was_comment")}
    typed = "Well said.\n<b>Really.</b>"
    reply = browse.request(place, {**form, "points": "2.0", "comment": typed})
    assert reply.status == 303
    page = browse.request(reply.headers["Location"])
    assert page.status == 200
    assert "<h1>bela</h1>" in page.text
    assert f"this answer is gone. {why} Nothing was saved." in page.text
    assert "Well said.\n&lt;b&gt;Really.&lt;/b&gt;</q>" in page.text
    assert re.search(r"<textarea[^>]*>\n?</textarea>", page.text)
    again = browse.request(browse.request(place).headers["Location"])
    assert why in again.text
    assert "Nothing was saved" not in again.text
    hidden = browse.request(f"{place}?names_hidden=yes")
    assert "The student" in (page := browse.request(hidden.headers["Location"]).text)
    assert not re.search(r"\bada\b", page)


def test_an_address_that_was_never_an_answers_leads_to_the_list(browse: Browser) -> None:
    """It may come of a page of an earlier run of the command."""
    page = browse.request(browse.request(f"{LESSON}/0123456789abcdef").headers["Location"])
    assert "There is no such answer." in page.text
    assert "<h1>Written answers</h1>" in page.text


def test_a_name_stands_beside_its_id(browse: Browser, handed_in: Course) -> None:
    """In the list and on the page, as the class list has it now; without one, the id stands alone."""
    add_students(handed_in, [Listed("ada", "Ada", "<King>")])
    pages = browse.request("").text, browse.request(browse.place("ada")).text
    assert all("Ada &lt;King&gt; (ada)" in page for page in pages)
    assert ">bela</a>" in pages[0]


def test_hidden_names_are_nowhere(browse: Browser, handed_in: Course) -> None:
    """Neither in the text nor in an address, on any page, also after a grade."""
    add_students(handed_in, [Listed("ada", "Countess", "Lovelace")])
    pages = [browse.request("?names_hidden=yes")]
    for student in ANSWERS:
        pages.append(browse.request(f"{browse.place(student)}?names_hidden=yes"))
    place, page = browse.place("ada"), pages[1]
    form = {name: page.field(name) for name in ("digest", "was_points", "was_comment")} | {"points": "1.0"}
    reply = browse.request(f"{place}?names_hidden=yes", form)
    pages.append(browse.request(reply.headers["Location"]))
    for page in pages:
        assert page.status == 200
        assert "Student " in page.text
        names = (*ANSWERS, "Countess", "Lovelace")  # a random address may hold the letters of one
        assert not [name for name in names if re.search(rf"\b{name}\b", page.text)]


def test_when_all_are_graded_the_list_says_so(browse: Browser) -> None:
    """And each can be opened again, with the score that it has."""
    for student in ANSWERS:
        page = browse.grade(student, points="2.0")
    assert "All 3 answers are graded." in page.text
    assert "<strong>2 of 2</strong> given" in browse.request(browse.place("bela")).text
    assert 'aria-pressed="true" data-key="2"' in browse.request(browse.place("bela")).text


def test_a_fault_keeps_its_traceback_and_tells_no_address(
    browse: Browser, handed_in: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader learns where to look; an error that we know is told in its own words."""
    monkeypatch.setattr(browse.server.answers, "text", lambda _: 1 / 0)
    reply = browse.request(browse.place("ada"))
    assert reply.status == 500
    log = handed_in.reports / "grader-errors.log"
    assert str(log) in reply.text
    assert "ZeroDivisionError" in log.read_text()
    assert browse.server.token not in log.read_text()
    monkeypatch.undo()
    handed_in.autograded_notebook("ada", LESSON).unlink()
    assert "run &#39;autograder grade 03_tiny&#39;" in browse.request(browse.place("ada")).text
