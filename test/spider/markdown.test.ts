import { describe, expect, it } from 'vitest'
import { defineSpider } from '../../src/spider/definition.js'
import { createPage } from '../../src/spider/page.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'

const URL = 'https://docs.example/guide/'

const spider = spiderFromDefinition(
  defineSpider({
    name: 'docs',
    start: [URL],
    records: { page: {} },
    routes: { page: { match: '**', follow: [{ links: 'a[href]' }], record: { kind: 'page', contents: 'markdown' } } },
  }),
)

async function harvest(html: string, headers: Record<string, string> = {}) {
  const page = createPage({
    ...{ url: URL, requestedUrl: URL, status: 200, route: 'page', depth: 0, attempt: 1, data: null },
    headers: { 'content-type': 'text/html; charset=utf-8', ...headers },
    body: Buffer.from(html),
  })
  return spider.routes.get('page')?.harvest(page)
}

async function recordOf(html: string, headers?: Record<string, string>) {
  const found = await harvest(html, headers)
  return found?.records[0]?.data as Record<string, unknown>
}

const markdownOf = async (html: string) => String((await recordOf(html)).markdown)

describe('a page as Markdown', () => {
  it.each([
    ['<h1>Title</h1><p>A <b>bold</b> <em>word</em>.', '# Title\n\nA **bold** *word*.\n'],
    ['<p><a href="../x?a=1">link</a> <a href="javascript:void(0)">no</a>', '[link](https://docs.example/x?a=1) no\n'],
    ['<ul><li>a<ul><li>b</ul><li>c</ul>', '- a\n  - b\n- c\n'],
    ['<ol start=3><li>a<li>b</ol>', '3. a\n4. b\n'],
    ['<pre><code class="language-js">a &lt; b\n  c</code></pre>', '```js\na < b\n  c\n```\n'],
    [
      '<div class="highlight-python3"><div class="highlight"><pre><span>x</span> = 1</pre></div></div>',
      '```python\nx = 1\n```\n',
    ],
    [
      '<div class="fragment"><div class="line">int a;</div><div class="line">int b;</div></div>',
      '```\nint a;\nint b;\n```\n',
    ],
    ['<table><tr><th>a<th>b<tr><td>1|2<td><code>x</code></table>', '| a | b |\n| - | - |\n| 1\\|2 | `x` |\n'],
    ['<table><tr><td><h2>Left</h2><td><p>right</table>', '## Left\n\nright\n'],
    ['<dl><dt>term<dd>what it means</dl>', '- term\n\n  what it means\n'],
    [
      '<p><img src="a.png" alt="A picture"><img src="b.png" alt=""><img src="data:image/png;base64,AAAA" alt="inline">',
      '![A picture](https://docs.example/guide/a.png)inline\n',
    ],
    ['<p>5 * 3 &amp; [x] &lt;b&gt; 日本語', '5 \\* 3 & \\[x] \\<b> 日本語\n'],
    ['<blockquote><p>said', '> said\n'],
    ['<p>a<br>b<hr>', 'a\\\nb\n\n---\n'],
    ['<p><del>old</del> new', '~~old~~ new\n'],
    ['', ''],
  ])('writes %j', async (html, expected) => {
    expect(await markdownOf(html)).toBe(expected)
  })

  it.each([
    ['<nav>menu</nav><main><p>text</main><footer>imprint</footer>', 'text\n'],
    ['<div>menu</div><div role="main"><p>text</div>', 'text\n'],
    ['<p>menu<article><header><h1>T</h1></header><p>text</article>', '# T\n\ntext\n'],
    ['<article>one</article><article>two</article>', 'one\n\ntwo\n'],
    ['<div id="content"><p>menu<div id="apicontent"><p>text</div></div>', 'text\n'],
    [
      '<ul><li><a href="/">Home</a><li><a href="/b">B</a></ul><h1>T</h1><ul><li><a href="/c">C</a></ul>',
      '# T\n\n- [C](https://docs.example/c)\n',
    ],
    ['<h2>T<a class="headerlink" href="#t">¶</a> <a href="#t">#</a></h2>', '## T\n'],
    [
      '<p>a<script>x</script><style>y</style><button>Copy</button><span hidden>z</span><i aria-hidden="true">w</i>',
      'a\n',
    ],
    ['<ul><li><a href="/only">A page of links only</a></ul>', '- [A page of links only](https://docs.example/only)\n'],
  ])('leaves out what is not content: %j', async (html, expected) => {
    expect(await markdownOf(html)).toBe(expected)
  })

  it('stores title, description, language and dates, and follows links', async () => {
    const html = `<html lang="de"><title> Die
      Seite </title><meta name=description content="Worum es geht"><meta property="article:published_time" content="2024-05-01T10:00:00+02:00">
      <script type="application/ld+json">{"@graph":[{"dateModified":"2025-01-02"}]}</script><base href="/b/"><p><a href="c">c</a>`
    expect(await recordOf(html)).toEqual({
      url: URL,
      status: 200,
      title: 'Die Seite',
      description: 'Worum es geht',
      language: 'de',
      published: '2024-05-01T08:00:00.000Z',
      modified: '2025-01-02T00:00:00.000Z',
      markdown: '[c](https://docs.example/b/c)\n',
    })
    expect((await harvest(html))?.links).toEqual([{ href: 'https://docs.example/b/c' }])
  })

  it('takes the date of the response if the page has none', async () => {
    const headers = { 'last-modified': 'Wed, 21 Oct 2015 07:28:00 GMT' }
    expect(await recordOf('<p>x', headers)).toMatchObject({ published: null, modified: '2015-10-21T07:28:00.000Z' })
    expect(await recordOf('<script type="application/ld+json">{</script><p>x')).toMatchObject({ modified: null })
  })

  it('keeps text as it is, and fences JSON', async () => {
    expect(await recordOf('# a\n\n*b*', { 'content-type': 'text/markdown' })).toMatchObject({ markdown: '# a\n\n*b*' })
    expect(await recordOf('{"a":1}', { 'content-type': 'application/json' })).toMatchObject({
      markdown: '```json\n{"a":1}\n```\n',
    })
    expect(await recordOf('x', { 'content-type': 'image/png' })).toMatchObject({ markdown: '' })
  })

  it('fits into a record, and says what it left out', async () => {
    const paragraphs = await recordOf('<p>word word word</p>'.repeat(30_000))
    expect(paragraphs.truncated).toBe(true)
    const code = await recordOf(`<pre>${'日本語 line\n'.repeat(40_000)}</pre>`)
    expect(code.truncated).toBe(true)
    expect(String(code.markdown).endsWith('\n```\n')).toBe(true)
    for (const record of [paragraphs, code]) expect(Buffer.byteLength(JSON.stringify(record))).toBeLessThan(256 * 1024)
    expect(await recordOf('<p>short')).not.toHaveProperty('truncated')
  })

  it('takes bounded time for hostile pages', async () => {
    const pages = [
      `<table><tr>${'<td>a'.repeat(5_000)}${'<tr><td>b'.repeat(5_000)}`,
      `${'<blockquote>'.repeat(480)}${'<p>x</p>'.repeat(2_000)}`,
      '<ul><li>'.repeat(250),
      '<b>x</b>'.repeat(100_000),
      `<p>${'*_`[]<&\\'.repeat(100_000)}`,
      '<dl><dt>a<dd>b'.repeat(200),
    ]
    await markdownOf('<p>loads the library')
    for (const html of pages) {
      const before = process.cpuUsage()
      await markdownOf(html)
      expect(process.cpuUsage(before).user / 1_000, html.slice(0, 20)).toBeLessThan(5_000)
    }
  })
})
