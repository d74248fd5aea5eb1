"""El inventario: cada respuesta mala la da su error, no se acierta a ciegas, y lo que dicen sus papeles y sus cuentas."""

import csv
import io
import json
import os
import re
from collections import Counter
from xml.etree import ElementTree

import pytest
from helpers_browser import PHONE, ROOT, write
from helpers_explorers import CUT, SHOW
from nbformat.v4 import new_code_cell
from playwright.sync_api import expect

from aula.calificar import pages, submissions
from course_checkers import Inventory, inventory
from course_checkers.engine.catalog import mistakes
from course_checkers.engine.lines import lines
from course_checkers.inventory import __main__, papers, results
from course_checkers.inventory.inventory import whole
from course_tools.opening import progress

FORMS, LANGUAGES = inventory.FORMS, ("es", "en")
CONCEPTS = [*inventory.concepts()[0]]
each = pytest.mark.parametrize("form", FORMS)


# --- Las preguntas --------------------------------------------------------------------------------


def test_there_are_24_concepts_each_with_its_why_in_two_languages():
    assert len(CONCEPTS) == 24
    for one in inventory.concepts()[0].values():
        assert re.fullmatch(r"\d\d §[\d.]+", one["leccion"])
        for language in LANGUAGES:
            assert {*one[language]} - {*FORMS} == {"titulo", "definicion", "dificil", "pregunta"} and all(one[language].values())
    assert all(not re.search("[áéíóúñ¿]", one.question) for form in FORMS for one in inventory.items(form, "en"))


@each
@pytest.mark.parametrize("concept", CONCEPTS)
def test_each_wrong_answer_is_what_its_mistake_gives_and_no_two_are_the_same(form, concept):
    item = inventory.items(form)[CONCEPTS.index(concept)]
    assert 3 <= len(item.answers) == len({*item.answers}) <= 4 and item.mistakes[item.right] == ""
    assert len(item.question.split()) <= 50 and not re.search(r"[{}]|nan|inf", item.question + "".join(item.answers))
    words = inventory.concepts()[1]
    for said, why in zip(item.answers, item.mistakes):
        computed = inventory.answer(item.concept, form, why)
        assert said == words.get(computed, {}).get("es", computed)
        number, _, name = why.partition(" · ")
        known = {m.id for line in lines().values() if line.number == number for m, _ in line.wrong}
        assert not why or name in (known or mistakes(number))
    other = inventory.items(form, "en")[CONCEPTS.index(concept)]
    assert (other.right, other.mistakes, len(other.answers)) == (item.right, item.mistakes, len(item.answers))


BY_HAND = {  # con papel y lápiz, y no con las cuentas del curso
    "A": "7; mar; 9; (5, 2); (3, 3, 5); uno que no salía antes en ningún lugar; 0.67; baja; 3; ×1; todas; 1 1 0 0; 0.73; "
         "0.88; 1 1 1 0; 0 0 0 0; 0 1 1 0; #3, #4, #5; (5, 3); (1, 2); mar; (4.5, 1); (7, 8, 9); (−1, 6); 3 × 5",
    "B": "9; oro; 7; (2, 10); (4, 2, 3); uno que no salía antes en ningún lugar; 0.58; sube; 6; ×1; todas; 1 1 1 0 0; 0.88; "
         "0.73; 1 1 0 0; 0 0 0 0; 0 0 1 1 0; #2, #3, #4; (5, 7); (3, 3); luna; (3, 5.5); (9, 10); (−2, 13); 6 × 4",
}  # fmt: skip


@each
def test_the_right_answers_are_those_worked_out_by_hand(form):
    assert "; ".join(one.answers[one.right] for one in inventory.items(form)) == BY_HAND[form]


def test_a_mistake_that_an_exercise_cannot_make_is_said():
    with pytest.raises(LookupError, match="5.1 no sabe cometer «ninguno»"):
        inventory.counted("5.1", "ninguno")


def test_the_two_forms_ask_the_same_with_other_numbers():
    for one, other in zip(*(inventory.items(form) for form in FORMS)):
        assert one.concept == other.concept and one.question != other.question
        assert sorted(one.mistakes) == sorted(other.mistakes)


def middle(answers):
    """Entre números, el de en medio; si no, el primero."""
    try:
        return sorted(range(len(answers)), key=lambda k: float(answers[k].replace("−", "-").strip("×")))[len(answers) // 2]
    except ValueError:
        return 0


def like_the_rest(answers):
    """La que más se parece a las otras: la que comparte más trozos."""
    parts = [Counter(re.findall(r"[\w.−]+", text)) for text in answers]
    return max(range(len(answers)), key=lambda k: sum((parts[k] & other).total() for other in parts))


BLIND = {
    "la más larga": lambda item: max(range(len(item.answers)), key=lambda k: len(item.answers[k])),
    "la más corta": lambda item: min(range(len(item.answers)), key=lambda k: len(item.answers[k])),
    "la de en medio": lambda item: middle(item.answers),
    "la que se parece a las otras": lambda item: like_the_rest(item.answers),
    "la que repite la pregunta": lambda item: max(
        range(len(item.answers)), key=lambda k: sum(part in item.question for part in item.answers[k].split())
    ),
    **{f"siempre la {k + 1}": lambda item, k=k: min(k, len(item.answers) - 1) for k in range(4)},
}


@each
@pytest.mark.parametrize("way", BLIND)
def test_who_knows_how_tests_are_made_and_not_attention_stays_at_chance(form, way):
    hits = sum(BLIND[way](one) == one.right for one in inventory.items(form))
    assert hits / 24 <= 0.4, f"{hits} de 24 con «{way}»"


# --- En papel y para Moodle -----------------------------------------------------------------------


@each
@pytest.mark.parametrize("language", LANGUAGES)
def test_moodle_gets_each_question_with_one_right_answer_and_its_mistakes(form, language):
    quiz = ElementTree.fromstring(papers.moodle(form, language))
    asked = [one for one in quiz if one.get("type") == "multichoice"]
    for one, item in zip(asked, inventory.items(form, language), strict=True):
        assert one.findtext("questiontext/text") == item.question
        assert [answer.findtext("text") for answer in one.iter("answer")] == [*item.answers]
        assert [answer.get("fraction") for answer in one.iter("answer")].index("100") == item.right
        assert [answer.findtext("feedback/text") or "" for answer in one.iter("answer")] == [*item.mistakes]
    text = papers.gift(form, language)
    blocks = [block for block in text.split("\n\n") if block.strip()]
    for block, item in zip(blocks, inventory.items(form, language), strict=True):
        bare = re.sub(r"\\([~=#{}:\\])", lambda found: chr(0xE000 + ord(found[1])), block)  # lo que va con barra
        back = lambda found: re.sub("[\ue000-\uf8ff]", lambda one: chr(ord(one[0]) - 0xE000), found)  # noqa: E731
        [(name, question, ways)] = re.findall(r"::(.+?)::\[plain\](.+?) \{\n(.+?)\n\}", bare, re.S)
        assert back(question) == item.question and back(name).split()[1] == item.concept
        found = re.findall(r"\t([=~])([^#\n]+)(?:#(.+))?", ways)
        assert [back(said) for _, said, _ in found] == [*item.answers]
        assert [back(why) for *_, why in found] == [*item.mistakes] and [sign for sign, *_ in found].index("=") == item.right


def test_the_paper_has_no_key_unless_it_is_asked_for():
    plain, key = papers.paper("A"), papers.paper("A", key=True)
    assert plain.count("<section>") == 24 and "class=" not in plain.split("<h1>")[1] and key.count('<li class="key">') == 24
    assert "1.a · coseno" in key and "coseno" not in plain


@pytest.mark.lenta
@pytest.mark.navegador
@each
def test_the_paper_takes_two_pages(browser, form):
    page = browser.new_page()
    page.set_content(papers.paper(form))
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4", prefer_css_page_size=True))) <= 2
    page.close()


# --- Las cuentas ----------------------------------------------------------------------------------


def person(form, right):
    """Quien acierta las ``right`` primeras y, en las demás, dice la primera mala."""
    said = {}
    for place, one in enumerate(inventory.items(form)):
        wrong = next(k for k in range(len(one.answers)) if k != one.right)
        said[one.concept] = one.right if place < right else wrong
    return form, said


def kept_in(path, form, said, **more):
    record = {"form": form, "version": inventory.VERSION, "date": "2026-03-01", "said": said} | more
    path.write_text(json.dumps({"inventory": {f"{form} 2026-03-01": record, form: {"form": form, "said": {}}}}))
    return path


def moodle_answers(path, *people, word="Respuesta"):
    rows = [["Apellido(s)", "Estado", *(f"{word} {k}" for k in range(1, 25))]]
    for form, said in people:
        rows.append(["X", "Finalizado", *(one.answers[said[one.concept]] for one in inventory.items(form))])
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    path.write_text("\ufeff" + text.getvalue(), encoding="utf-8")
    return path


@pytest.mark.parametrize("word", ["Respuesta", "Response"])
def test_what_moodle_gives_back_is_read_by_its_words(tmp_path, word):
    people = [person("A", 5), person("B", 20)]
    path = moodle_answers(tmp_path / "r.csv", *people, word=word)
    assert results.read(path) == people
    rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"))))
    text = io.StringIO()  # la misma, guardada por una hoja de cálculo: otro separador, la coma y el menos del teclado
    csv.writer(text, delimiter=";").writerows([[cell.replace(".", ",").replace("−", "-") for cell in row] for row in rows])
    path.write_bytes(text.getvalue().encode("cp1252"))
    assert results.read(path) == people
    assert all(len({*map(results.bare, one.answers)}) == len(one.answers) for form in FORMS for one in inventory.items(form))


def test_what_was_handed_in_is_read_and_a_draft_or_another_version_is_not(tmp_path):
    form, said = person("B", 7)
    assert results.read(kept_in(tmp_path / "a.json", form, said)) == [(form, said)]
    for name, text in {"b.json": "{", "c.json": '{"inventory": []}', "d.csv": "", "e.csv": "a,b\n1,2", "f.json": "[]"}.items():
        (tmp_path / name).write_text(text)
    kept_in(tmp_path / "g.json", form, said, version=99)
    for name in "bcfg":
        with pytest.raises(ValueError, match=rf"{name}.json: no hay ninguna respuesta del inventario"):
            results.read(tmp_path / f"{name}.json")
    (tmp_path / "h.csv").write_bytes(bytes(range(128, 256)) * 3)
    for name in "deh":
        with pytest.raises(ValueError, match="el CSV de respuestas de Moodle"):
            results.read(tmp_path / f"{name}.csv")


def test_the_class_report_counts_those_who_hand_in_their_progress_and_names_nobody(tmp_path):
    for k in range(6):
        (tmp_path / f"Ana {k}").mkdir()
        takes = {}
        for form, right, day in (("B", 14 + k, "2026-05-01"), ("A", 6 + k, "2026-03-01")):    # la de después, antes
            takes[f"{form} {day}"] = {"form": form, "version": inventory.VERSION, "date": day, "said": person(form, right)[1]}
        (tmp_path / f"Ana {k}/mi_progreso (1).json").write_text(json.dumps({"inventory": takes}))
    (tmp_path / "Ana 0/mi_progreso.json").write_text("[" * 10**5)
    os.utime(tmp_path / "Ana 0/mi_progreso (1).json", (1, 1))
    people = [{"name": who, "lessons": {}, "took": took} for who, *_, took in submissions.gather(tmp_path, "")]
    page = pages.class_report(people, with_names=False)
    assert "Gana +33%" in page and "6 personas" in page and "Ana" not in page
    assert "con menos de 5 no se dice nada" in pages.class_report(people[:4], with_names=True)
    for one in people[2:]:
        one["took"][0]["inventory"].popitem()      # solo dos, más de una vez: las primeras de todos
    assert "Gana" not in pages.class_report(people, with_names=False)
    assert "El inventario" not in pages.class_report([one | {"took": [{"inventory": 3}]} for one in people], with_names=False)


def test_of_a_group_it_says_how_many_the_mistake_and_the_gain_and_of_few_nothing(tmp_path, capsys):
    before, after = [person("A", k) for k in (4, 6, 8, 10, 12)], [person("B", k) for k in (14, 16, 18, 20, 22)]
    assert results.scores(before) == [k / 24 for k in (4, 6, 8, 10, 12)]
    table = results.by_item(before)
    assert table[CONCEPTS[0]][:2] == (1, None) and table[CONCEPTS[5]][0] == 0.8 and table[CONCEPTS[5]][1] > 0.5
    [(mistake, many)] = table[CONCEPTS[-1]][2]
    assert many == 5 and mistake.startswith("9.1 · ")
    more, (low, high) = results.gain(results.scores(before), results.scores(after))
    assert more == pytest.approx(10 / 24) and low < more < high and low > 0
    same = results.gain([0.5] * 6, [0.5] * 6)
    assert same == (0, (0, 0))
    files = [kept_in(tmp_path / f"{k}.json", *one) for k, one in enumerate([*before, *after])]
    __main__.main(["cuentas", *map(str, files[:5]), "--despues", *map(str, files[5:])])
    said = capsys.readouterr().out
    assert "Gana +42%, entre" in said and "5 personas: de media, 33%" in said and str(tmp_path) not in said
    __main__.main(["cuentas", *map(str, files[:4])])
    assert "con menos de 5 no se dice nada" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        __main__.main(["cuentas", str(tmp_path / "no.json")])


def test_how_many_people_are_needed_is_cohens_table():
    assert [results.needed(d, 1) for d in (0.2, 0.5, 0.8)] == [393, 63, 25]  # Cohen, 1988, con la normal
    with pytest.raises(ValueError, match="difference = 0"):
        results.needed(0, 1)


# --- Contestarlo ----------------------------------------------------------------------------------


def test_what_is_handed_in_is_kept_once_a_day_and_a_strange_record_is_left_out(kept):
    shown = Inventory("A")
    draft = {"form": "A", "version": 1, "said": {CONCEPTS[0]: 2}}
    done = draft | {"date": "2026-03-01", "right": 1}
    shown.takes = {"A": draft, "A 2026-03-01": done, "<b>": {"said": 3}}
    assert progress.load()["inventory"] == {"A": draft, "A 2026-03-01": done}
    again = Inventory("A")
    again.takes = {**again.takes, "A 2026-03-01": done | {"right": 24}}
    assert progress.load()["inventory"]["A 2026-03-01"] == done
    assert not whole(None) and not whole({"form": "C", "said": {}}) and not whole({"form": "A", "said": {"x": "1"}})


@pytest.mark.parametrize(("given", "message"), [
    (("C",), r"form = 'C', y tiene que ser \"A\" o \"B\""), (("A", "fr"), r"language = 'fr', y tiene que ser \"es\" o \"en\""),
])  # fmt: skip
def test_another_form_or_language_is_said(given, message):
    with pytest.raises(ValueError, match=message):
        Inventory(*given)


@pytest.mark.navegador
def test_with_no_kernel_it_keeps_what_is_said_warns_of_the_blanks_and_compares(browser):
    page = browser.new_page(viewport=PHONE)
    page.route("http://curso.test/", lambda route: route.fulfill(body="<html></html>", content_type="text/html"))
    memory = "http://curso.test/_static/progreso.js"
    page.route(memory, lambda route: route.fulfill(path=ROOT / "sitio/web/progreso.js"))

    def opened(form):
        page.goto("http://curso.test/")
        page.evaluate("globalThis.course = {syllabus: {}}")
        page.add_script_tag(url=memory)
        page.evaluate(SHOW, [Inventory(form).get_state()])
        return page.locator(".exp-inventory")

    def answer(box, item, k):
        box.locator("fieldset").nth(CONCEPTS.index(item.concept)).get_by_role("radio").nth(k).check()

    old = {"form": "A", "version": 1, "date": "2026-01-01", "said": {}, "right": 3}
    strange, future = old | {"version": 0}, old | {"date": "2999-01-01"}
    page.goto("http://curso.test/")
    takes = {"A 2026-01-01": old, "B 2025-01-01": strange, "A 2999-01-01": future}
    page.evaluate("takes => localStorage.setItem('atencion/progreso', JSON.stringify({inventory: takes}))", takes)
    box, items = opened("B"), inventory.items("B")
    assert page.evaluate(CUT) == []
    for item in items[:10]:
        answer(box, item, item.right)
    box = opened("B")  # se recarga: lo dicho sigue ahí
    assert box.locator("input:checked").count() == 10
    answer(box, items[10], (items[10].right + 1) % len(items[10].answers))
    box.get_by_role("button", name="Lo entrego").click()
    expect(box.locator(".exp-say")).to_contain_text("Sin contestar: 12, 13,")
    box.get_by_role("button", name="Lo entrego").click()
    told = box.locator(".exp-say")
    expect(told).to_contain_text("Son 10 de 24. El 2026-01-01, con la forma A, fueron 3: +7. Vuelve a «")
    expect(told).to_contain_text("es de otra versión del inventario, y no se compara. Hay una vez apuntada con una fecha")
    assert box.locator("fieldset:not([disabled])").count() == 0
    box = opened("B")  # hoy ya está entregado
    expect(box.locator(".exp-say")).to_contain_text("Son 10 de 24.")
    page.close()


@pytest.mark.navegador
@pytest.mark.lenta
def test_in_jupyter_it_is_handed_in_with_the_keyboard(lab):
    lab.open(write(lab, new_code_cell("from course_checkers import Inventory\nInventory('A')")))
    lab.run_all()
    box = lab.page.locator(".exp-inventory")
    box.locator("fieldset").first.get_by_role("radio").first.focus()
    lab.page.keyboard.press("Space")
    hand = box.get_by_role("button", name="Lo entrego")
    for _ in range(2):
        hand.focus()
        lab.page.keyboard.press("Enter")
    expect(box.locator(".exp-say")).to_contain_text("de 24.")
    assert lab.messages == []
    lab.close()
