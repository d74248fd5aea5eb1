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

  /** Cuántas letras hay que cambiar, poner o quitar para ir de una palabra a otra. */
  function apart(one, other) {
    let row = Array.from({ length: other.length + 1 }, (_, j) => j);
    for (let i = 1; i <= one.length; i++) {
      const above = row;
      row = [i];
      for (let j = 1; j <= other.length; j++)
        row[j] = Math.min(row[j - 1] + 1, above[j] + 1, above[j - 1] + (one[i - 1] !== other[j - 1]));
    }
    return row[other.length];
  }

  /** Una palabra que está en el curso y es casi esa. Si no la hay, o ya está, la misma. */
  function near(word) {
    const { terms, titles } = Search._index;
    const [[stem = ''], folded] = [[...Search._parseQuery(word)[1]], fold(word)];
    if (!stem || stem in terms) return word;
    const known = Object.keys(terms).filter(one => one[0] === folded[0]);
    const far = one => Math.min(apart(stem, one), apart(folded, one));
    const [[best, found] = [9]] = known.map(one => [far(one), one]).sort(([a], [b]) => a - b);
    if (best > (folded.length > 5 ? 2 : 1)) return word;
    const read = [...titles, ...Object.values(Search.texts)].join(' ').match(RegExp(`(?<!\\p{L})${found}\\p{L}*`, 'iu'));
    return read ? read[0].toLowerCase() : found;
  }

  /** Si se enseña: una solución, solo a quien ha intentado algún ejercicio de su lección. */
  function shown(name) {
    const [, lesson] = /^soluciones\/(\d\d_\w+)/.exec(name) ?? [];
    const tried = course.progress.load().exercises;
    return !lesson || course.syllabus[lesson]?.exercises.some(number => number in tried);
  }

  Search.query = query => {
    const look = words => {
      const asked = Search._parseQuery(words);
      return [asked, [...new Set(Search._performSearch(...asked).map(([name]) => name).reverse())].filter(shown)];
    };
    const { docnames, titles } = Search._index;
    let [asked, names] = look(query);
    const other = names.length ? query : query.split(/\s+/).map(near).join(' ');
    if (other !== query) [asked, names] = look(other);
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
    const instead = other !== query && names.length ? `No hay nada de «${query}»: esto es de «${other}». ` : '';
    Search.status.textContent = names.length
      ? `${instead}${many} ${names.length} apartado${names.length > 1 ? 's' : ''}.`
      : 'Ningún apartado tiene todas esas palabras.';
    localStorage.removeItem('sphinx_highlight_terms'); // ya se ha señalado lo que se buscaba
  };
}
