"""``python -m course_checkers.inventory``: el inventario en papel, para Moodle, y las cuentas de un grupo."""

import argparse
from pathlib import Path

from course_checkers.inventory import FORMS, papers, results

PARSER = argparse.ArgumentParser(prog="python -m course_checkers.inventory", description=__doc__)
ORDERS = PARSER.add_subparsers(dest="order", required=True)
for order, told in (("papel", "una página web, para imprimirla"), ("moodle", "el XML de Moodle"), ("gift", "GIFT")):
    one = ORDERS.add_parser(order, help=told)
    one.add_argument("form", choices=FORMS)
    one.add_argument("--idioma", choices=("es", "en"), default="es")
    if order == "papel":
        one.add_argument("--clave", action="store_true", help="con las respuestas, y el error de cada una")
accounts = ORDERS.add_parser("cuentas", help="de un grupo, o de antes y después")
accounts.add_argument("antes", nargs="+", type=Path)
accounts.add_argument("--despues", nargs="+", type=Path, default=[])


def main(arguments=None):
    given = PARSER.parse_args(arguments)
    if given.order == "papel":
        print(papers.paper(given.form, given.idioma, given.clave))
    elif given.order in ("moodle", "gift"):
        print(getattr(papers, given.order)(given.form, given.idioma), end="")
    else:
        try:
            groups = [[one for path in paths for one in results.read(path)] for paths in (given.antes, given.despues) if paths]
        except (OSError, ValueError) as error:
            PARSER.exit(1, f"{error}\n")
        print(results.report(*groups))


if __name__ == "__main__":
    main()
