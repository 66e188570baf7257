import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { BIN } from '../support/cli.js'

const dir = mkdtempSync(join(tmpdir(), 'shoal-shell-'))
const paths: string[] = []
let origin = ''

const site = createServer((request, response) => {
  const path = request.url ?? '/'
  paths.push(path)
  if (path === '/robots.txt') return response.end('User-agent: *\nDisallow: /secret\n')
  response.setHeader('content-type', 'text/html')
  return response.end(`<h1>${path}</h1><a class="next" href="/next">next</a>`)
})

beforeAll(async () => {
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  writeFileSync(
    join(dir, 'pages.ts'),
    `import { defineSpider } from 'shoal'
     export default defineSpider({
       name: 'pages', start: ['${origin}/'], allowPrivate: ['127.0.0.1:*'], records: { page: {} },
       pace: { delay: '10ms' }, headers: { 'x-key': 'k' },
       routes: { page: { match: '**', record: { kind: 'page', key: 'title', fields: { title: 'h1' } } } },
     })`,
  )
})
afterAll(() => site.close())

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** The command with a script on standard input. */
function shell(args: readonly string[], script: string, command = process.execPath): Promise<Ended> {
  const given = command === process.execPath ? [BIN, 'shell', ...args] : args
  const child = spawn(command, given, { cwd: dir, env: { ...process.env, XDG_STATE_HOME: join(dir, 'state') } })
  const ended = { code: null as number | null, out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    ended.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    ended.err += text
  })
  child.stdin.end(script)
  return new Promise((resolve) => {
    child.once('close', (code) => resolve({ ...ended, code }))
  })
}

it('without a spider: fetches a page and the ones that follow, obeys robots.txt and the guard', async () => {
  const script = "$('h1').text()\nfetch(links('a.next')[0])\n$('h1').text()\nfetch('/secret')\npage.url\n"
  const { code, out, err } = await shell([`${origin}/`, '--allow-private', '127.0.0.1:*'], script)
  expect(out).toMatch(/^'\/'\n200 {2}http:\S+\/next {2}.*\n'\/next'\n'http:\S+\/next'\n$/)
  expect(err).toMatch(/^error robots_disallowed: /)
  expect(err).not.toContain('    at ')
  expect(code).toBe(6)
  const guarded = await shell([`${origin}/`], '1')
  expect(guarded).toMatchObject({ code: 6, out: '', err: expect.stringContaining('private_address') })
})

it('with a spider and the cache: records of its route, and nothing is sent again', async () => {
  const run = () =>
    shell(['pages.ts', `${origin}/`, '--cache', '--json'], 'records().then((r) => r.records[0].data)\nfetch("/next")\n')
  const first = await run()
  expect({ code: first.code, err: first.err }).toEqual({ code: 0, err: '' })
  expect(first.out).toMatch(/^\{"title":"\/"\}\n\{"url":"http:\S+\/next"/)
  paths.length = 0
  expect((await run()).out.split('\n')[0]).toBe('{"title":"/"}')
  expect(paths).toEqual([])
})

it('a saved page needs no network; a wrong command and a wrong file have their exit codes', async () => {
  writeFileSync(join(dir, 'saved.html'), '<h1>saved</h1>')
  const saved = await shell(['--html', 'saved.html'], "$('h1').text()\nnonsense\n")
  expect(saved).toMatchObject({ code: 3, out: "'saved'\n", err: 'ReferenceError: nonsense is not defined\n' })
  expect((await shell(['--html', 'missing.html'], '1')).err).toContain('missing.html: there is no such file')
  expect((await shell([`${origin}/`, 'pages.ts'], '1')).code).toBe(2)
})

it('at a terminal it has a prompt, and a history that only its owner can read', async () => {
  const typed = `${process.execPath} ${BIN} shell --html saved.html`
  const { out } = await shell(['-qec', typed, '/dev/null'], "$('h1').text()\r.exit\r", 'script')
  expect(out).toContain('shoal> ')
  expect(out).toContain("'saved'")
  const history = join(dir, 'state', 'shoal', 'shell_history')
  expect(readFileSync(history, 'utf8')).toContain("$('h1').text()")
  expect(statSync(history).mode & 0o777).toBe(0o600)
})
