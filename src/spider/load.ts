import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { createJiti, type JitiOptions } from 'jiti'
import { ShoalError } from '../errors.js'
import type { CrawlArgs } from '../frontier/frontier.js'
import { keepSourceMap } from '../source-maps.js'
import { loadFailure } from './load-failure.js'
import { projectPathsOf } from './project-paths.js'
import { hashOf, isTagged, spiderWith } from './resolve.js'
import type { Spider } from './spider.js'

/** Loads a spider file, TypeScript or JavaScript, without a build step. */
export async function loadSpider(path: string, args: CrawlArgs = {}): Promise<Spider> {
  const file = resolve(path)
  const text = await readSpider(file, path)
  const spider = await evaluateFile(file, path)
  if (spider === undefined)
    throw new ShoalError('spider_invalid', `${path}: has no default export`, {
      hint: 'Write: export default defineSpider({ … })',
    })
  if (!isTagged(spider))
    throw new ShoalError('spider_invalid', `${path}: the default export is not a spider`, {
      hint: 'Write: export default defineSpider({ … })',
    })
  try {
    return spiderWith(spider, hashOf(text), args)
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    throw new ShoalError(error.code, `${path}: ${error.message}`, { hint: error.hint, cause: error })
  }
}

async function readSpider(file: string, path: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason =
      code === 'ENOENT' || code === 'ENOTDIR'
        ? 'there is no such file'
        : code === 'EISDIR'
          ? 'is a folder, not a file'
          : `cannot be read (${code})`
    throw new ShoalError('spider_missing', `${path}: ${reason}`, { cause: error })
  }
}

/** Node keeps ten frames. An error deep inside a package would end before the line of the spider that called it. */
const STACK_FRAMES = 100

/** The default export of a file. `modules`: what its imports get for these names, in addition to Shoal itself. */
export async function evaluateFile(
  file: string,
  path: string,
  modules: Readonly<Record<string, unknown>> = {},
): Promise<unknown> {
  Error.stackTraceLimit = Math.max(STACK_FRAMES, Error.stackTraceLimit)
  const require = createRequire(file)
  const project = projectPathsOf(file)
  const jiti = createJiti(file, {
    interopDefault: false,
    fsCache: false,
    // One file for all: jiti would look for one above each module, also inside packages, whose own is often not complete.
    tsconfigPaths: project?.fault === null ? project.file : false,
    transform: compilerFor(file),
    // Modules already in memory: this very copy of Shoal, wherever the file is, and never a copy through Babel.
    virtualModules: {
      shoal: await import('../index.js'),
      ...modules,
      ...(canResolve(require, 'zod') ? {} : { zod: await import('zod') }),
    },
  })
  // An edited file is loaded again.
  delete require.cache[file]
  try {
    const module = await untilIdle(jiti.import<{ default?: unknown } | undefined>(file))
    const exported = module?.default
    // module.exports = defineSpider(…), or `export default` compiled to CommonJS and imported as a whole.
    return isTagged(module)
      ? module
      : exported !== undefined && !isTagged(exported)
        ? ((exported as { default?: unknown }).default ?? exported)
        : exported
  } catch (error) {
    const { message, hint } = loadFailure(error, file, path, project)
    throw new ShoalError('spider_syntax', message, { cause: error, ...(hint !== undefined && { hint }) })
  }
}

/** Files that are being loaded. One listener for all of them: Node warns of the eleventh. */
const loading = new Set<() => void>()
const giveUp = () => {
  for (const one of loading) one()
}

/** A file that waits for ever, with nothing left to happen, fails. Node would end the command without a word, with code 13. */
async function untilIdle<Module>(module: Promise<Module>): Promise<Module> {
  let fail = () => {}
  const idle = new Promise<never>((_, reject) => {
    fail = () => reject('its top-level await never ends: nothing is left that could end it')
  })
  if (loading.size === 0) process.on('beforeExit', giveUp)
  loading.add(fail)
  try {
    return await Promise.race([module, idle])
  } finally {
    loading.delete(fail)
    if (loading.size === 0) process.off('beforeExit', giveUp)
  }
}

function canResolve(require: NodeJS.Require, name: string): boolean {
  try {
    require.resolve(name)
    return true
  } catch {
    return false
  }
}

/** Compiles a module and keeps its source map. It is jiti's own compiler, with its cache: jiti alone does not keep the map. */
function compilerFor(file: string): NonNullable<JitiOptions['transform']> {
  const compiler = createJiti(file, {
    interopDefault: false,
    // Babel takes 200 ms for its first file. The cache belongs to the user: code in a shared /tmp could be anybody's.
    fsCache: join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'shoal', 'spiders'),
    sourceMaps: true,
  })
  // Options for Babel would replace those of the compiler, which ask for the map.
  return ({ babel: _none, ...module }) => {
    const code = compiler.transform(module)
    if (module.filename !== undefined) keepSourceMap(module.filename, code, module.async === true)
    return { code }
  }
}
