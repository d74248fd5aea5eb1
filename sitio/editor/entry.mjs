import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { python } from '@codemirror/lang-python';
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { EditorState } from '@codemirror/state';
import { EditorView, drawSelection, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const colours = HighlightStyle.define([
  { tag: tags.keyword, class: 'e-keyword' },
  { tag: [tags.string, tags.special(tags.string)], class: 'e-string' },
  { tag: [tags.number, tags.bool, tags.null], class: 'e-number' },
  { tag: [tags.lineComment, tags.comment], class: 'e-comment' },
  { tag: tags.definition(tags.function(tags.variableName)), class: 'e-name' },
]);

/** Un editor de Python en `parent`. `onChange(texto)`; `onCheck()`, con Ctrl+Enter. */
globalThis.course ??= {};
globalThis.course.editor = ({ parent, text, at, label, onChange, onCheck }) => {
  const check = () => (onCheck(), true);
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      selection: { anchor: Math.min(at, text.length) },
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        highlightSpecialChars(),
        bracketMatching(),
        indentOnInput(),
        indentUnit.of('    '),
        EditorState.tabSize.of(4),
        EditorView.lineWrapping,
        python(),
        EditorState.phrases.of({ 'Selection deleted': 'Lo elegido, borrado', 'Control character': 'Signo que no se ve' }),
        syntaxHighlighting(colours),
        keymap.of([
          { key: 'Mod-Enter', run: check },
          { key: 'Shift-Enter', run: check },
          ...defaultKeymap,
          ...historyKeymap,
          indentWithTab,
        ]),
        EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', autocapitalize: 'off' }),
        EditorView.updateListener.of(({ docChanged, state }) => docChanged && onChange(state.doc.toString())),
      ],
    }),
  });
  return {
    get text() {
      return view.state.doc.toString();
    },
    set text(now) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: now } });
    },
    focus: () => view.focus(),
  };
};
