/** What is compared. `SELECTORS` are written as people copy them from the tools of a browser. */
export const SELECTORS: readonly string[] = [
  ...['html', 'head', 'body', 'html > body > *', 'head > *', 'title', 'base', 'meta', 'link', 'script', 'style'],
  ...['a', 'a[href]', 'p', 'div', 'span', 'b', 'i', 'em', 'font', 'nobr', 'h1', 'h2', 'pre', 'textarea', 'noscript'],
  ...['ul > li', 'dt, dd', 'table', 'tbody', 'table > tbody > tr > td', 'tr', 'td', 'th', 'caption', 'col, colgroup'],
  ...['form', 'form input', 'button', 'select', 'option', 'optgroup', 'label', 'template', 'iframe', 'object', 'img'],
  ...['svg', 'svg *', 'path', 'foreignObject', 'math *', 'ruby *', 'frameset', 'frame', 'my-tag', 'p > span', 'b a'],
  ...['.x', '.x.y', '.x .y', '#one', '[data-x]', '[class~=x]', '[class^=y]', '[class$=x]', '[lang|=en]', '[title]'],
  ...['p:first-child', 'li:nth-child(2)', 'p + p', 'p ~ div', ':not(div) > p', 'td:last-child', 'div:has(p)'],
]

/** One value per question, as text: 'encoding', 'base', 'links', 'followed', 'text', 'attributes', and one per selector. */
export type Answers = Readonly<Record<string, string>>

export interface Document {
  readonly name: string
  readonly contentType: string | null
  readonly body: Uint8Array
}

export function document(name: string, body: string | Uint8Array, contentType: string | null = 'text/html'): Document {
  return { name, contentType, body: typeof body === 'string' ? Buffer.from(body) : body }
}

/** Values are lists of texts; a text may contain anything but this. */
export const SEPARATOR = '\u001f'
