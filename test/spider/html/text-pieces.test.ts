import { parse, serialize } from 'parse5'
import { expect, it } from 'vitest'
import { innerHtml, parseHtml } from '../../../src/spider/html/parse-html.js'

const TEXTS = [
  'a b',
  ' ',
  '\n',
  '\r\n',
  '\r',
  '\0',
  '\u{1f600}',
  '\ud800',
  '\uffff',
  '&amp;',
  '&',
  '&lt',
  '<',
  '</',
  '<!',
]
const TAGS = [
  '<p>',
  '<pre>',
  '<table>',
  '<colgroup>',
  '<td>',
  '<frameset>',
  '</frameset>',
  '</head>',
  '</body>',
  '</html>',
  '<svg>',
  '<![CDATA[',
  ']]>',
  '<title>',
  '</title>',
  '<textarea>',
  '<style>',
  '<script>',
  '<script><!--<script>',
  '</script>',
  '<template>',
  '<plaintext>',
]

it('text is the same as if it were read letter by letter', () => {
  const different: string[] = []
  for (const tag of TAGS)
    for (const first of [...TEXTS, ...TAGS])
      for (const second of TEXTS) {
        const html = `${tag}${first}x y${second}z ${second}w`
        const letterByLetter = serialize(parse(html, { scriptingEnabled: false }))
        if (innerHtml(parseHtml(html)) !== letterByLetter) different.push(html)
      }
  expect(different).toEqual([])
})

it('text is complete on a page that is longer than the buffer of the parser', () => {
  const words = Array.from({ length: 50_000 }, (_, n) => `word ${n}${n % 7 === 0 ? '\n' : ' '}`).join('')
  expect(innerHtml(parseHtml(`<body><p>${words}</p>`))).toContain(`<p>${words}</p>`)
  expect(innerHtml(parseHtml(`<body><script>${words}</script>`))).toContain(`<script>${words}</script>`)
})
