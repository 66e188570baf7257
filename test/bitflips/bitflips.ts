import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { seededRandom } from '../../src/clock.js'
import { type CliResult, startCli } from '../support/cli.js'

/**
 * Random bits of a database are flipped, and the commands that people run next are run on it. None may die of a signal or hang, each ends with an exit code of
 * the docs, and whatever `run` trips over, `doctor` finds.
 */
const PAGES = 40
/** The crawl is interrupted with about this many pages left to do. */
const LEFT = 10
const PATIENCE_MS = 60_000

interface Trial {
  readonly seed: number
  readonly flips: number
  readonly codes: Readonly<Record<string, string>>
  readonly problems: readonly string[]
}

export interface FlipRun {
  readonly trial: (seed: number) => Promise<Trial>
  readonly close: () => void
}

/** A small crawl, stopped before its end: the database to be damaged has a queue and records. */
export async function prepareFlips(dir: string): Promise<FlipRun> {
  let served = 0
  let interrupt = () => {}
  const site = createServer((request, response) => {
    if (request.url === '/robots.txt') return void response.writeHead(404).end()
    if (++served === PAGES - LEFT) interrupt()
    const text = `Page ${request.url} with words é ü € and more of them, `.repeat(5)
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(`<title>${text}</title>`)
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  const { port } = site.address() as AddressInfo
  const start = Array.from({ length: PAGES }, (_, index) => `'http://127.0.0.1:${port}/${index}'`)
  writeFileSync(
    join(dir, 'site.ts'),
    `import { defineSpider } from 'shoal'
     export default defineSpider({ name: 'site', start: [${start}], allowPrivate: ['127.0.0.1:${port}'], pace: { delay: '20ms' },
       retries: { max: 1, backoff: ['10ms'] }, records: { page: {} },
       routes: { page: { match: '/**', handler(page, out) { out.record('page', page.url, { title: page.$('title').text() }) } } } })`,
  )
  const first = startCli(['run', 'site.ts', '--queue', 'sqlite:sound.db'], { cwd: dir })
  interrupt = () => first.child.kill('SIGINT')
  const { stderr } = await first.result
  if (!stderr.includes('finishing')) throw new Error(`the first crawl was not interrupted: ${stderr}`)
  const sound = readFileSync(join(dir, 'sound.db'))
  return {
    trial: (seed) => trial(dir, sound, seed),
    close() {
      site.closeAllConnections()
      site.close()
    },
  }
}

async function trial(dir: string, sound: Buffer, seed: number): Promise<Trial> {
  const random = seededRandom(seed)
  const damaged = Buffer.from(sound)
  const flips = 1 + Math.floor(random() * 8)
  for (let nth = 0; nth < flips; nth++) {
    const at = Math.floor(random() * damaged.length)
    damaged[at] = (damaged[at] ?? 0) ^ (1 << Math.floor(random() * 8))
  }
  const folder = join(dir, `trial-${seed}`)
  mkdirSync(folder)
  writeFileSync(join(folder, 'doctor.db'), damaged)
  for (const name of ['run', 'read', 'recover']) copyFileSync(join(folder, 'doctor.db'), join(folder, `${name}.db`))
  const on = (name: string) => ['--queue', `sqlite:${join(folder, `${name}.db`)}`]
  const results = new Map<string, CliResult>()
  const does = async (name: string, ...args: string[]) => results.set(name, await command(dir, args))
  await Promise.all([
    does('doctor', 'doctor', '--json', ...on('doctor')),
    does('run', 'run', 'site.ts', '--json', ...on('run')),
    does('status', 'status', ...on('read')),
    does('export', 'export', '--out', join(folder, 'all.jsonl'), ...on('read')),
    does('recover', 'recover', '--into', join(folder, 'saved.db'), ...on('recover')),
  ])
  if (results.get('recover')?.code === 0)
    await does('saved', 'doctor', '--json', '--queue', `sqlite:${join(folder, 'saved.db')}`)
  rmSync(folder, { recursive: true })
  const codes = Object.fromEntries([...results].map(([name, { code, signal }]) => [name, String(signal ?? code)]))
  return { seed, flips, codes, problems: problemsOf(results) }
}

/** Usage and interruption cannot come from a damaged file. */
const DOCUMENTED: Readonly<Record<string, readonly number[]>> = {
  doctor: [0, 4, 5],
  run: [0, 4, 6],
  status: [0, 3, 4],
  export: [0, 4],
  recover: [0, 4],
  saved: [0],
}

export function problemsOf(results: ReadonlyMap<string, CliResult>): string[] {
  const problems: string[] = []
  for (const [name, { code, signal, stderr }] of results) {
    const last = stderr.trimEnd().split('\n').slice(-2).join(' ')
    if (signal !== null) problems.push(`${name} ended by ${signal}: ${last}`)
    else if (!DOCUMENTED[name]?.includes(code ?? -1)) problems.push(`${name} exited with ${code}: ${last}`)
    else if (/\n {4}at /.test(stderr)) problems.push(`${name} printed a stack: ${last}`)
  }
  const finds = results.get('doctor')?.code !== 0
  for (const name of ['run', 'status', 'export']) {
    const result = results.get(name)
    if (result?.code === 4 && !finds) problems.push(`doctor finds nothing, and ${name} says: ${result.stderr.trim()}`)
  }
  return problems
}

async function command(cwd: string, args: readonly string[]): Promise<CliResult> {
  const { child, result } = startCli(args, { cwd })
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
  try {
    return await result
  } finally {
    clearTimeout(timer)
  }
}
