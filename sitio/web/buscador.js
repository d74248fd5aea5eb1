'use strict';
{
  // Lo que encuentra el buscador de Sphinx: cada apartado, con el trozo que lo dice.

  const [MOST, AROUND] = [40, 110]; // resultados, y letras a cada lado
  const fold = text => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

  /** El trozo de un texto donde está una palabra de las buscadas, señalada; si no, el principio. */
  function excerpt(text, stems) {
    const word = RegExp(`[^\\p{L}\\p{N}](${stems.join('|') || '$^'})[\\p{L}\\p{N}]*`, 'u');
    const found = fold(` ${text}`).match(word);
    const [at, long] = found ? [found.index, found[0].length - 1] : [0, 0];
    const start = at < AROUND ? 0 : text.indexOf(' ', at - AROUND) + 1;
    const end = text.indexOf(' ', at + long + AROUND);
    const node = document.createElement('p');
    const mark = document.createElement('mark');
    mark.textContent = text.slice(at, at + long);
    const rest = end < 0 ? text.slice(at + long) : `${text.slice(at + long, end)} …`;
    node.append(start ? '… ' : '', text.slice(start, at), ...(long ? [mark] : []), rest);
    return node;
  }

  Search.query = query => {
    const asked = Search._parseQuery(query);
    const { docnames, titles } = Search._index;
    const names = [...new Set(Search._performSearch(...asked).map(([name]) => name).reverse())];
    for (const name of names.slice(0, MOST)) {
      const [page, anchor] = name.split('#');
      const title = one => titles[docnames.indexOf(one)];
      const item = Search.output.appendChild(document.createElement('li'));
      const link = item.appendChild(document.createElement('a'));
      link.href = `${page}.html${anchor ? `#${anchor}` : ''}`;
      link.textContent = anchor ? `${title(page)} › ${title(name)}` : title(page);
      item.append(excerpt(Search.texts[name], [...asked[1]]));
    }
    Search.stopPulse();
    Search.title.textContent = 'Resultados';
    const many = names.length > MOST ? `Los ${MOST} mejores, de` : 'En';
    Search.status.textContent = names.length
      ? `${many} ${names.length} apartado${names.length > 1 ? 's' : ''}.`
      : 'Ningún apartado tiene todas esas palabras.';
    localStorage.removeItem('sphinx_highlight_terms'); // ya se ha señalado lo que se buscaba
  };
}
