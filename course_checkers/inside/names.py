"""Los nombres de un trozo de código: los que crea o cambia, y los que usa. Se lee sin ejecutarlo."""


def names(table):
    """De una tabla de ``symtable``: (los que crea, los que necesita), también dentro de sus funciones."""
    binds, needs, top = set(), set(), table.get_type() == "module"
    for symbol in table.get_symbols():
        name, bound = symbol.get_name(), symbol.is_assigned() or symbol.is_imported()
        if (top or symbol.is_declared_global()) and bound:
            binds.add(name)
        if symbol.is_referenced() and (top or symbol.is_global()):
            needs.add(name)
    for inner in map(names, table.get_children()):
        binds, needs = binds | inner[0], needs | inner[1]
    return binds, needs
