import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startCli } from '../support/cli.js'

/**
 * The first five minutes of a new user, as a session of real commands: a project, a wrong selector, what `try` says about it, the fix, a crawl, a test
 * that passes offline. docs/first-spider.md shows what this records.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SITE = 'https://books.toscrape.com'
const BOOKS = 12
const PER_PAGE = 6

/** The session as text: each command after a `$`, then what it printed. `onStep` gets each as it ends. */
export async function recordSession(onStep: (text: string) => void = () => {}): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-five-minutes-'))
  const project = join(dir, 'my-spiders')
  const site = await servePracticeSite()
  const spider = join(project, 'books.ts')
  const steps: string[] = []
  const step = (command: string, output: string) => {
    const text = `$ ${command}\n${settled(output, site.origin)}`
    steps.push(text)
    onStep(text)
  }
  const shoal = async (cwd: string, ...args: string[]) => {
    // The progress on standard error depends on how fast the machine is.
    const { stdout, stderr, code } = await startCli(args, { cwd, env: { npm_command: 'exec' } }).result
    if (code !== 0) throw new Error(`shoal ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`)
    const shown = args.map((arg) => arg.replace(site.origin, SITE)).join(' ')
    step(`npx shoal ${shown}`, stdout)
  }
  const edit = (from: string, to: string) => {
    writeFileSync(spider, readFileSync(spider, 'utf8').replace(from, to))
    step(`sed -i 's/${from}/${to}/' books.ts`, '')
  }
  try {
    await shoal(dir, 'init', 'my-spiders')
    install(project)
    useLocalSite(spider, site.origin)
    const page = `${site.origin}/catalogue/tidal-atlas-3_3/index.html`
    edit('.price_color', '.price-color')
    await shoal(project, 'try', 'books.ts', page)
    edit('.price-color', '.price_color')
    await shoal(project, 'try', 'books.ts', page)
    await shoal(project, 'run', 'books.ts')
    await shoal(project, 'export', '--kind', 'book', '--out', 'books.csv')
    await site.close()
    // As it came, for the page that came with it.
    useLocalSite(spider, SITE)
    step('npm test', npmTest(project))
    return steps.join('\n')
  } finally {
    await site.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** As `npm install` would, from this clone and without the network. */
function install(project: string): void {
  mkdirSync(join(project, 'node_modules'))
  for (const [name, target] of [
    ['shoal', ROOT],
    ['zod', join(ROOT, 'node_modules', 'zod')],
  ] as const)
    symlinkSync(target, join(project, 'node_modules', name))
}

/** The practice site is not reachable from everywhere, and not ours to crawl in every test. */
function useLocalSite(spider: string, origin: string): void {
  const isLocal = origin !== SITE
  const text = readFileSync(spider, 'utf8')
    .replace(/start: \['[^']*'\]/, `start: ['${origin}/']`)
    .replace(/hosts: \['[^']*'\]/, `hosts: ['${new URL(origin).host}']`)
    .replace(/ {2}allowPrivate: .*\n/, '')
    .replace(/( {2}pace: \{ delay: ')[^']*/, `$1${isLocal ? '1ms' : '500ms'}`)
    .replace(/^(export default defineSpider\(\{\n)/m, isLocal ? "$1  allowPrivate: ['127.0.0.1:*'],\n" : '$1')
  writeFileSync(spider, text)
}

function npmTest(project: string): string {
  const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...env } = process.env
  const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { scripts: { test: string } }
  const script = scripts.test.replace('--test ', '--test --test-reporter=spec ')
  return execFileSync('sh', ['-c', script], { cwd: project, env, encoding: 'utf8' })
}

/** What differs from run to run, or from machine to machine, as one spelling. */
function settled(output: string, origin: string): string {
  const text = output
    .replaceAll(origin, SITE)
    .replaceAll(new URL(origin).host, new URL(SITE).host)
    .replace(/\bbooks-\d{8}-\d{6}-[a-z0-9]{3}\b/g, 'books-20261116-101500-k3x')
    .replace(/\b\d+(\.\d+)?\/s\b/g, '9.5/s')
    // A busy machine takes seconds for what usually takes milliseconds.
    .replace(/\b\d+(\.\d+)? ?(µs|ms|s)\b/g, '12 ms')
    .replace(/(Finished after) 12 ms/, '$1 1.2 s')
    .replace(/(duration_ms) [\d.]+/g, '$1 12')
    .replace(/[ \t]+$/gm, '')
    .trim()
  return text === '' ? '' : `${text}\n`
}

async function servePracticeSite(): Promise<{ readonly origin: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const html = pageAt(request.url ?? '/')
    response.writeHead(html === null ? 404 : 200, { 'content-type': 'text/html' }).end(html ?? 'not here')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

const TITLES = ['Tidal Atlas', 'The Lamp Keeper', 'Salt and Cedar', 'Night Ferry']
const books = Array.from({ length: BOOKS }, (_, index) => {
  const title = `${TITLES[index % TITLES.length]} ${index + 1}`
  const slug = `${title.toLowerCase().replaceAll(' ', '-')}_${index + 1}`
  return { title, path: `/catalogue/${slug}/index.html`, price: (10 + index * 1.5).toFixed(2), upc: `upc-${index + 1}` }
})
// The page that the session shows.
books[2] = { title: 'Tidal Atlas 3', path: '/catalogue/tidal-atlas-3_3/index.html', price: '13.00', upc: 'upc-3' }

function pageAt(path: string): string | null {
  const book = books.find((one) => one.path === path)
  if (book !== undefined)
    return `<title>${book.title}</title><h1>${book.title}</h1><p class="price_color">£${book.price}</p>
      <table><tr><th>UPC</th><td>${book.upc}</td></tr></table>`
  const page = path === '/' ? 1 : Number(/^\/catalogue\/page-(\d+)\.html$/.exec(path)?.[1] ?? Number.NaN)
  const shown = books.slice((page - 1) * PER_PAGE, page * PER_PAGE)
  if (shown.length === 0) return null
  const items = shown.map(
    ({ title, path: to }) => `<article class="product_pod"><h3><a href="${to}">${title}</a></h3></article>`,
  )
  const next =
    page * PER_PAGE < BOOKS ? `<li class="next"><a href="/catalogue/page-${page + 1}.html">next</a></li>` : ''
  return `<title>All books</title>${items.join('')}${next}`
}
