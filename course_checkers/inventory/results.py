"""El inventario, para quien enseña. No dice nada de nadie, ni de un grupo de menos de ``FEW``."""

import json
import random
import statistics
from collections import Counter

from course_checkers.inventory import FORMS, VERSION, items
from course_checkers.inventory.inventory import whole
from course_tools.foreign import Unreadable, tables

FEW = 5
DRAWS = 2000  # sorteos del intervalo


def read(path):
    """Lo que dice un archivo: de cada persona y forma, ``(forma, {concepto: número de la respuesta})``.

    Raises:
        ValueError: si no se entiende: dice qué archivo es y qué se esperaba.
    """
    try:
        found = json.loads(tables.read_text(path)[0]) if path.suffix == ".json" else tables.read_table(path)[0]
    except (ValueError, Unreadable):
        found = None
    given = list(of_progress(found) if isinstance(found, dict) else of_moodle(found or []))
    if not given:
        wanted = "un mi_progreso.json con el inventario entregado, o el CSV de respuestas de Moodle"
        raise ValueError(f"{path.name}: no hay ninguna respuesta del inventario, versión {VERSION}. Se espera {wanted}.")
    return given


def of_progress(found):
    """Lo entregado, en un archivo del progreso, en el orden en que se entregó."""
    takes = found.get("inventory")
    given = [one for one in takes.values() if whole(one) and one.get("date")] if isinstance(takes, dict) else []
    given.sort(key=lambda one: str(one["date"]))
    return [(one["form"], one["said"]) for one in given if one.get("version") == VERSION]


def of_class(takes):
    """Los grupos de ``report``: la primera vez y la última de quien lo repite; o, si son pocas, la primera de todos."""
    twice = [(each[0], each[-1]) for each in takes if len(each) > 1]
    return [[*group] for group in zip(*twice)] if len(twice) >= FEW else [[each[0] for each in takes if each]]


def of_moodle(rows):
    """Una fila por persona: «Response 1», «Response 2»… o «Respuesta 1»…, con el texto de lo elegido.

    La forma es la que tiene entre sus respuestas más de las elegidas.
    """
    head, *people = rows or [[]]
    columns = [k for k, name in enumerate(head) if name.split(" ")[0].lower() in ("response", "respuesta")]
    for row in people if len(columns) == len(items("A")) else ():
        texts = [row[k].strip() if k < len(row) else "" for k in columns]
        ways = [(form, chosen(form, language, texts)) for form in FORMS for language in ("es", "en")]
        yield max(ways, key=lambda way: len(way[1]))


def chosen(form, language, texts):
    ways = ((one.concept, [*map(bare, one.answers)], bare(said)) for one, said in zip(items(form, language), texts))
    return {concept: answers.index(said) for concept, answers, said in ways if said in answers}


def bare(said):
    """Una respuesta, como sea que la haya escrito una hoja de cálculo: 0,67 por 0.67, o el menos del teclado."""
    return "".join(said.split()).replace(",", ".").replace("−", "-").lower()


def scores(given):
    """De cada persona, cuántas acierta, de 0 a 1."""
    return [sum(said.get(one.concept) == one.right for one in items(form)) / len(items(form)) for form, said in given]


def by_item(given):
    """De cada concepto: qué parte acierta, si distingue a quien sabe, y la respuesta mala más elegida, con su error.

    Distinguir es la correlación entre acertarla y cuántas de las demás se aciertan; sin variación, nada.
    """
    totals, found = [score * len(items("A")) for score in scores(given)], {}
    for place, one in enumerate(items("A")):
        asked = [(items(form)[place], said.get(one.concept)) for form, said in given]
        hits = [float(which.right == k) for which, k in asked]
        rest = [total - hit for total, hit in zip(totals, hits)]
        varies = len(set(hits)) > 1 and len(set(rest)) > 1
        wrong = Counter(which.mistakes[k] for which, k in asked if k in range(len(which.answers)) and k != which.right)
        found[one.concept] = (
            statistics.mean(hits), statistics.correlation(hits, rest) if varies else None, wrong.most_common(1)
        )  # fmt: skip
    return found


def gain(before, after, seed=0):
    """Cuánto sube la media de un grupo, de 0 a 1, y su intervalo del 95 %, por sorteos (bootstrap).

    Son dos listas de lo que acierta cada cual; no hace falta saber quién es quién.
    """
    draw = random.Random(seed)  # noqa: S311 (sortear no es cifrar)
    means = sorted(
        statistics.mean(draw.choices(after, k=len(after))) - statistics.mean(draw.choices(before, k=len(before)))
        for _ in range(DRAWS)
    )
    cut = DRAWS // 40
    return statistics.mean(after) - statistics.mean(before), (means[cut], means[-cut - 1])


def needed(difference, spread, power=0.8):
    """Cuántas personas hacen falta en cada grupo para ver esa diferencia de medias, con un 5 % de error.

    ``difference`` y ``spread``, la desviación típica, van de 0 a 1 (Cohen, 1988, §2.4, con la normal).
    """
    if not (difference and spread > 0 and 0 < power < 1):
        raise ValueError(f"needed: difference = {difference}, spread = {spread}, power = {power}: ninguno puede ser 0.")
    normal = statistics.NormalDist()
    z = normal.inv_cdf(0.975) + normal.inv_cdf(power)
    return int(-(-2 * (z * spread / difference) ** 2 // 1))


def report(*groups):
    """Lo que se le dice a quien enseña: de uno o dos grupos, antes y después."""
    few = [len(given) for given in groups if len(given) < FEW]
    if few:
        return f"Hay {few[0]} respuestas: con menos de {FEW} no se dice nada, porque se sabría de quién son."
    lines = [f"{'concepto':20} " + "  ".join(f"{'aciertan':>8} {'distingue':>9}" for _ in groups) + "  lo que más se elige, y no es"]
    tables = [by_item(given) for given in groups]
    for concept in tables[0]:
        shown = "  ".join(f"{hit:8.0%} {'—' if apart is None else f'{apart:.2f}':>9}" for hit, apart, _ in (t[concept] for t in tables))
        most = tables[-1][concept][2]
        lines.append(f"{concept:20} {shown}  " + "".join(f"{why} ({many})" for why, many in most))
    means = [scores(given) for given in groups]
    lines += [f"{len(one)} personas: de media, {statistics.mean(one):.0%}" for one in means]
    if len(groups) == 2:
        more, (low, high) = gain(*means)
        lines.append(f"Gana {more:+.0%}, entre {low:+.0%} y {high:+.0%} (95 %).")
    return "\n".join(lines).replace("-", "−")
