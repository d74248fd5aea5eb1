"""El buscador de Sphinx, apartado a apartado, con lo que se lee en cada uno. Es una extensión."""

import json
from pathlib import Path

from docutils import nodes
from docutils.utils import new_document
from sphinx.builders.html import StandaloneHTMLBuilder

from sitio.formulas import words

UNREAD = nodes.literal_block, nodes.math_block, nodes.raw, nodes.comment, nodes.image, nodes.title


class Pages(StandaloneHTMLBuilder):
    """Las páginas. Para buscar, cada apartado es una; cómo se enseña, en ``web/buscador.js``."""

    def init(self):
        super().init()
        self.texts = {}

    def index_page(self, pagename, doctree, title):
        if "nosearch" in self.env.metadata.get(pagename, {}):
            return
        for section in doctree.findall(nodes.section):
            own = new_document("")
            own += [one.deepcopy() for one in section if not isinstance(one, nodes.section)]
            for formula in list(own.findall(nodes.math)):
                formula.replace_self(nodes.Text(words(formula.astext())))
            name = pagename if section.parent is doctree else f"{pagename}#{section['ids'][0]}"
            self.indexer.feed(name, pagename, own.next_node(nodes.title).astext(), own)
            for kind in UNREAD:
                for node in list(own.findall(kind)):
                    node.parent.remove(node)
            self.texts[name] = " ".join(own.astext().split())
            self.texts[pagename] = self.texts[pagename] or self.texts[name]  # un título sin texto

    def dump_search_index(self):
        with Path(self.outdir, self.searchindex_filename).open("w", encoding="utf-8") as file:
            texts = json.dumps(self.texts, ensure_ascii=False, separators=(",", ":"))
            file.write(f"Search.texts = {texts};\n")
            self.indexer.dump(file, self.indexer_format)


def setup(app):
    app.add_builder(Pages, override=True)
