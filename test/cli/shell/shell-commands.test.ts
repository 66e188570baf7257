import { readFileSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { PassThrough } from 'node:stream'
import { inspect } from 'node:util'
import { beforeEach, expect, it } from 'vitest'
import { historyFile } from '../../../src/cli/shell/history-file.js'
import { shellCommands } from '../../../src/cli/shell/shell-commands.js'
import { runRepl } from '../../../src/cli/shell/shell-repl.js'
import { jsonWriter, shellWriter } from '../../../src/cli/shell/shell-writer.js'
import { styleFor } from '../../../src/cli/terminal/style.js'
import { ManualClock } from '../../../src/clock.js'
import { Closers } from '../../../src/closers.js'
import { loadConfig } from '../../../src/config.js'
import { isShoalError } from '../../../src/errors.js'
import { silentLog } from '../../../src/log.js'
import { openShellPages, type ShellPages } from '../../../src/run/shell/shell-pages.js'
import { defineSpider } from '../../../src/spider/definition.js'
import { spiderFromDefinition } from '../../../src/spider/resolve.js'

const plain = styleFor({}, {})
const PAGE = `<h1>Tome 1</h1><p class="price">£12.50</p><a class="next" href="page/2">next</a><a href="https://other.test/">other</a>
  <a href="mailto:a@b.test">mail</a><a href="page/2#top">again</a>`

let pages: ShellPages
beforeEach(async () => {
  const spider = spiderFromDefinition(
    defineSpider({
      name: 'books',
      start: ['https://books.test/'],
      records: { book: {} },
      routes: {
        listing: { match: '/page/*', handler() {} },
        book: { match: '**', record: { kind: 'book', key: 'title', fields: { title: 'h1' } } },
      },
    }),
  )
  const clock = new ManualClock()
  const closers = new Closers()
  pages = await openShellPages(spider, loadConfig({ flags: {}, env: {} }), { clock, log: silentLog, closers })
})

const given = (url: string, body: string, type = 'text/html') =>
  pages.given({
    ...{ url, requestedUrl: url, status: 200, headers: { 'content-type': type }, route: null, depth: 0 },
    body: Buffer.from(body),
  })

const commandsFor = (hasSpider: boolean, page = given('https://books.test/', PAGE)) => {
  const parts = { pages, style: plain, hasSpider, signal: () => ({ aborted: false }) }
  return shellCommands(parts, page)
}

/** What a script sees that is piped to the prompt. */
async function typed(script: string, { hasSpider = true, json = false } = {}) {
  const commands = commandsFor(hasSpider)
  const output = new PassThrough()
  const input = new PassThrough()
  let out = ''
  output.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  const errors: string[] = []
  const $ = () => commands.$
  const ended = runRepl({
    ...{ commands, input, output, interactive: false, colors: false, history: null, onInterrupt() {} },
    writer: json ? jsonWriter($) : shellWriter($, plain, false),
    onError: (error) => void errors.push(isShoalError(error) ? `${error.code}: ${error.message}` : String(error)),
  })
  input.end(script)
  await ended
  return { out, errors }
}

it('fields are values for further use, shown with where they come from and what is near a miss', async () => {
  const { out, errors } = await typed(`
    const f = fields({ title: 'h1', price: { select: '.price', as: 'number' }, old: '.prices' })
    f
    f.price * 2
  `)
  expect(errors).toEqual([])
  expect(out).toBe(
    [
      'title  "Tome 1"  h1, 1 match',
      'price  12.5      .price, 1 match',
      'old    —         .prices, no matches',
      '       no element has the class `prices`',
      '       did you mean .price?',
      '25',
      '',
    ].join('\n'),
  )
})

it('links are absolute, each once, with what the filter of the spider says', async () => {
  const { out } = await typed("links()\nlinks('a.next')[0]\nlinks('a.nxt')")
  expect(out.split('\n')).toEqual([
    'https://books.test/page/2  → listing',
    'https://other.test/  out_of_scope: Out of scope, host other.test is not in scope.hosts: https://other.test/',
    'mailto:a@b.test  bad_scheme: Only http and https can be fetched: mailto:a@b.test',
    "'https://books.test/page/2'",
    'no element that matches `a` has the class `nxt`',
    'did you mean a.next?',
    '',
  ])
})

it('records are what the route makes of the page; without a spider there are none', async () => {
  expect((await typed('records()')).out).toContain('1 record\n  book Tome 1\n')
  expect(await typed('records()', { hasSpider: false })).toEqual({
    out: '',
    errors: ['usage: records() needs a spider'],
  })
})

it('elements are shown as markup, and a long text is cut', async () => {
  const { out } = await typed("$('a')\n$('a').get(0)\nawait Promise.resolve($('h1').text())\n'x'.repeat(5000)")
  const lines = out.split('\n')
  expect(lines.slice(0, 2)).toEqual(['4 elements', '  <a class="next" href="page/2">next</a>'])
  expect(lines.slice(5, 8)).toEqual(['1 element', '  <a class="next" href="page/2">next</a>', "'Tome 1'"])
  expect(lines[8]).toContain('3000 more characters')
})

it('a promise is waited for, and the next command waits with it', async () => {
  const { out } = await typed('new Promise((done) => setTimeout(done, 20, 1))\n2\nawait 3')
  expect(out).toBe('1\n2\n3\n')
})

it('a command of several lines, one with an error, and the commands after it', async () => {
  const { out, errors } = await typed(
    "fields({\n  title: 'h1',\n}).title\nmissing.value\nthrow null\n1 + \n1\n}{\n'end'",
  )
  expect(out).toBe("'Tome 1'\n2\n'end'\n")
  expect(errors[0]).toBe('ReferenceError: missing is not defined')
  expect(errors[1]).toBe('null')
  expect(errors[2]).toMatch(/^SyntaxError/)
})

it('with --json each value is one line', async () => {
  const { out } = await typed("page\n$('a.next')\nfields({ title: 'h1' })\nundefined\n'é\\n'", { json: true })
  const [page, ...rest] = out.trimEnd().split('\n')
  expect(JSON.parse(page ?? '')).toMatchObject({ url: 'https://books.test/', status: 200, bytes: PAGE.length + 1 })
  expect(rest).toEqual(['["<a class=\\"next\\" href=\\"page/2\\">next</a>"]', '{"title":"Tome 1"}', '"é\\n"'])
})

it('control characters of a page do not reach the terminal', async () => {
  const commands = commandsFor(
    false,
    given('https://books.test/', '<h1>\u001b]0;owned\u0007</h1><a href="/\u001b[2J">x</a>'),
  )
  const write = shellWriter(() => commands.$, plain, false)
  const all = [
    commands.page,
    commands.$?.('h1'),
    commands.fields({ title: 'h1' }),
    commands.links(),
    commands.page?.text,
  ]
  for (const value of all) expect(write(value).replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
})

it('the page is one line, not its whole content', () => {
  expect(inspect(commandsFor(true).page)).toBe('200  https://books.test/  187 B text/html\n     route book')
})

it('a page that is no markup has no tree, and says so', async () => {
  const commands = commandsFor(true, given('https://books.test/', '{"a":1}', 'application/json'))
  expect(commands.$).toBeUndefined()
  expect(commands.fields({ a: { path: 'a' } })).toEqual({ a: 1 })
  expect(inspect(commands.fields({ title: 'h1' }))).toContain('needs HTML')
  expect(inspect(commands.links())).toContain('needs HTML')
})

it('without a page it says how to get one', () => {
  const parts = { pages, style: plain, hasSpider: false, signal: () => ({ aborted: false }) }
  const commands = shellCommands(parts)
  expect(commands.page).toBeUndefined()
  expect(() => commands.fields({ title: 'h1' })).toThrow('there is no page yet')
})

it('view() saves the page where nobody else can read it', () => {
  const file = commandsFor(true).view()
  expect(readFileSync(file, 'utf8')).toBe(PAGE)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  rmSync(dirname(file), { recursive: true })
})

it('keeps its history with the user, never in the project', () => {
  expect(historyFile({ XDG_STATE_HOME: '/state' }, '/home/me')).toBe('/state/shoal/shell_history')
  expect(historyFile({ XDG_STATE_HOME: 'state' }, '/home/me')).toBe('/home/me/.local/state/shoal/shell_history')
  expect(historyFile({}, '/home/me')).toBe('/home/me/.local/state/shoal/shell_history')
  expect(historyFile({}, '')).toBeNull()
})
