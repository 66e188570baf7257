import fc from 'fast-check'

/** HTML out of a fixed vocabulary: tag soup, where anything may follow anything. */
const NAMES =
  'div p span a b i em strong font nobr ul ol li dl dt dd table caption colgroup col tbody thead tfoot tr td th form input button select option optgroup hr br img h1 h2 pre textarea title script style noscript iframe xmp svg path g math mi use foreignObject desc template section article label object marquee ruby rt rb rtc rp html head body base link meta frameset frame image plaintext my-tag search dialog listing address details center small code'.split(
    ' ',
  )
/** The same, without the ones that nearly always send a page to the tree. */
const TAME =
  'div p span a b ul li dl dt dd table tbody tr td th form input button select option hr br img h1 h2 pre textarea script style noscript svg path section my-tag'.split(
    ' ',
  )
const ATTRIBUTES = [
  '',
  '',
  '',
  ' class="x"',
  ' class=x',
  " class='y x'",
  ' CLASS="a&amp;b y"',
  ' id=one',
  ' href="/a?b=1&amp;c=2"',
  ' href=/u/',
  ' href',
  ' href = "sp ace" class = y',
  ' HREF=\'q"q\' href="second"',
  ' rel="nofollow noopener" href=n',
  ' data-x="1 > 2"',
  ' data-x=&copy=1&copy;&#x41;&notit;',
  ' type=hidden',
  ' type=HIDDEN name=n',
  ' title="a\r\nb"',
  ' xlink:href="#i" viewBox="0 0"',
  '/class=x',
  ' ="odd" class="x\u00a0y"',
  ' class="x" class="z"',
  ' lang=EN',
  ' /',
]
const TEXTS = [
  'text',
  ' ',
  '\n',
  ' a < b ',
  '&amp;&lt;&copy &notit; &#65;&#x42;',
  '&#32;',
  '\r\n',
  '<!-- c -->',
  '<!--><b>-->',
  '<!-- -- --!>',
  '<!doctype html>',
  '<![CDATA[x]]>',
  '<?pi?>',
  '</>',
  '</ x>',
  'é€',
  '<',
  '&',
  '&amp',
  '<!-- <script> -->',
]

const attributes = fc.array(fc.constantFrom(...ATTRIBUTES), { maxLength: 2 }).map((list) => list.join(''))
const end = fc.constantFrom('>', '>', '>', '>', '/>', ' >')

function token(names: readonly string[]): fc.Arbitrary<string> {
  const name = fc.constantFrom(...names)
  return fc.oneof(
    { weight: 5, arbitrary: fc.tuple(name, attributes, end).map(([n, a, e]) => `<${n}${a}${e}`) },
    { weight: 4, arbitrary: name.map((n) => `</${n}>`) },
    { weight: 3, arbitrary: fc.constantFrom(...TEXTS) },
    { weight: 1, arbitrary: name.map((n) => `<${n.toUpperCase()}>t</${n.toUpperCase()} x="y">`) },
  )
}

export const soup = fc.array(token(NAMES), { maxLength: 25, size: 'max' }).map((tokens) => tokens.join(''))
export const tameSoup = fc.array(token(TAME), { maxLength: 30, size: 'max' }).map((tokens) => tokens.join(''))

/** Pages as people write them: every element closed, in places where it may stand, some optional end tags left out. */
export const wellFormed = fc.letrec<{ flow: string; phrasing: string }>((tie) => ({
  phrasing: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom('text', ' ', ' &amp; more &nbsp;', 'a < b', '<br>', '<img src="/i.png" alt="x">', '<!-- c -->'),
    fc
      .tuple(fc.constantFrom('span', 'b', 'em', 'code', 'label', 'my-tag'), attributes, inner(tie('phrasing')))
      .map(wrap),
    inner(fc.constantFrom('text', '<b>bold</b>', ' <span class=x>y</span>')).map(
      (t) => `<a href="/x" class="x y">${t}</a>`,
    ),
    fc.constant(
      '<svg class="x" viewBox="0 0 1 1"><title>t</title><path d="M0 0"/><g><use xlink:href="#a"></use></g></svg>',
    ),
    fc.constant('<select name=s><option>1<option class=x selected>2</option></select>'),
    fc.constant('<textarea>\n<b>&amp;</textarea>'),
    fc.constant('<script>if (a < b) "</div>"</script>'),
  ),
  flow: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie('phrasing').map((text) => `<p class="x">${text}</p>`),
    tie('phrasing').map((text) => `<h2 id=one>${text}</h2>`),
    fc.constantFrom('<p>unclosed', '<p class=x><span>unclosed span', '<p>a<br>b <a href="/y">l</a>'),
    fc
      .tuple(
        fc.constantFrom('div', 'section', 'article', 'nav', 'blockquote', 'details'),
        attributes,
        inner(tie('flow')),
      )
      .map(wrap),
    inner(tie('flow')).map((item) => `<ul><li>${item}<li class=x>${item}</li></ul>`),
    inner(tie('phrasing')).map((item) => `<dl><dt>${item}</dt><dd>${item}</dd></dl>`),
    inner(tie('flow')).map((cell) => `<table>\n<tr><th>h</th><td class="y">${cell}</td>\n<tr><td>${cell}</table>`),
    inner(tie('phrasing')).map(
      (cell) =>
        `<table><caption>c</caption><colgroup><col></colgroup><thead><tr><th>${cell}</thead><tbody><tr><td>1</tbody></table>`,
    ),
    fc.constant('<form action="/f"><input type="text" name="q"><button>go</button></form>'),
    fc.constant('<pre>\ncode &lt; x</pre>'),
    fc.constant('<template><p class=x>t</p></template>'),
    fc.constant('<noscript><img src="/n.png" class=x></noscript>'),
  ),
})).flow

function inner(arbitrary: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.array(arbitrary, { maxLength: 3 }).map((list) => list.join(''))
}

function wrap([name, attribute, content]: readonly [string, string, string]): string {
  return `<${name}${attribute.replace(/\/$/, '')}>${content}</${name}>`
}

export function asPage(body: string): string {
  return `<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"><title>T &amp; t</title><link rel=canonical href="/c"><script>var a = "<p>"</script></head>\n<body class="x">\n${body}\n</body>\n</html>\n`
}
