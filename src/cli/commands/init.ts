import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { ShoalError } from '../../errors.js'
import { makeDirs } from '../../make-dirs.js'
import { guide } from '../help.js'
import { missingIgnores, type Packages, projectFiles, SCRIPTS, SPIDER_FILE } from '../init/project.js'
import { dependencyIn, readManifest, shoalSpec } from '../init/shoal-spec.js'
import type { Output } from '../output.js'
import { acts, shellWord } from '../session.js'
import { printNextSteps } from '../views/summary-view.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

export function initCommand(program: Command): void {
  const command = program
    .command('init')
    .description('create a project with a first spider, a test and a saved page')
    .argument('[dir]', 'target folder', '.')
    .action(
      acts(async ({ json, output }, dir: string) => {
        const spider = join(dir, SPIDER_FILE)
        if (existsSync(spider))
          throw new ShoalError('usage', `${spider} already exists`, {
            hint: 'Choose another folder: `shoal init <dir>`.',
          })
        const packages = packagesFor(dir)
        const { created, kept } = create(dir, packages)
        const changes = changesTo(dir, kept, packages)
        if (json) return output.json({ dir, files: created, kept, changes })
        for (const file of created) output.print(`created ${file}`)
        for (const file of kept) output.print(`kept    ${file}, which was there before`)
        show(output, dir, changes)
      }),
    )
  guide(command, {
    examples: [
      ['init my-spiders', 'a new folder with everything an editor and npm need'],
      ['init', 'the same here; files that exist are kept'],
    ],
  })
}

/** Files that exist are never touched. */
function create(dir: string, packages: Packages): { readonly created: string[]; readonly kept: string[] } {
  const created: string[] = []
  const kept: string[] = []
  for (const [name, content] of projectFiles(basename(resolve(dir)), packages)) {
    const file = join(dir, name)
    try {
      makeDirs(dirname(file))
      writeFileSync(file, content, { flag: 'wx' })
      created.push(file)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EEXIST' && existsSync(file)) kept.push(file)
      else throw new ShoalError('out_unwritable', `${file} cannot be written (${code ?? 'unknown'})`, { cause: error })
    }
  }
  return { created, kept }
}

function packagesFor(dir: string): Packages {
  const ours = readManifest(join(ROOT, 'package.json'))
  const range = (name: string) => `^${(dependencyIn(ours, name) ?? '').replace(/^\^/, '')}`
  return {
    dependencies: { shoal: shoalSpec(ROOT, resolve(dir)), zod: range('zod') },
    devDependencies: { '@types/node': range('@types/node') },
  }
}

type Step = readonly [line: string, does: string]

/** What the files of an existing project lack, as commands to run and lines to add: a person's files are theirs to change. */
function changesTo(dir: string, kept: readonly string[], { dependencies, devDependencies }: Packages): Step[] {
  const steps: Step[] = []
  const isKept = (name: string) => kept.includes(join(dir, name))
  if (isKept('package.json')) {
    const manifest = readManifest(join(dir, 'package.json'))
    const missing = (all: Readonly<Record<string, string>>) =>
      Object.entries(all)
        .filter(([name]) => dependencyIn(manifest, name) === null)
        .map(([name, spec]) => shellWord(`${name}@${spec}`))
    const packages = [...missing(dependencies), ...missing(devDependencies)]
    if (packages.length > 0)
      steps.push([`npm install ${packages.join(' ')}`, 'add the packages that books.ts and its test need'])
    for (const [name, line] of Object.entries(SCRIPTS)) {
      if (manifest?.scripts?.[name] === undefined)
        steps.push([`npm pkg set ${shellWord(`scripts.${name}=${line}`)}`, `add the script ${name}`])
    }
  }
  if (isKept('.gitignore')) {
    // The last line of the file may lack its line break.
    for (const line of missingIgnores(readFileSync(join(dir, '.gitignore'), 'utf8')))
      steps.push([`printf '\\n%s\\n' ${line} >> .gitignore`, `keep ${line} out of git`])
  }
  return steps
}

function show(output: Output, dir: string, changes: readonly Step[]): void {
  const steps: Step[] = [
    ...(resolve(dir) === process.cwd()
      ? []
      : [[`cd ${shellWord(dir)}`, 'everything else happens in the new folder'] as const]),
    ...changes,
    ['npm install', 'install Shoal and the types that an editor needs'],
    ['npm test', 'run books.test.ts on the saved page; needs no network'],
    [
      `npx shoal try ${SPIDER_FILE} https://books.toscrape.com/`,
      'try one page: what each selector finds; nothing is stored',
    ],
    [`npx shoal run ${SPIDER_FILE}`, 'run the crawl; Ctrl-C stops it, the same command resumes it'],
    ['npx shoal export --kind book --out books.csv', 'export the records as a table'],
    [
      `npx shoal check ${SPIDER_FILE}`,
      'after a change: is the spider valid, and are its saved pages still read right?',
    ],
  ]
  printNextSteps(output, 'Next:', steps)
}
