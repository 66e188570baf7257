import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createVitest, type TestSpecification, type Vitest } from 'vitest/node'
import { MUTANTS, type Mutant } from './mutants.js'

export interface MutantResult {
  readonly name: string
  readonly file: string
  /** `broken`: the tests could not be run, or the line is not there any more. */
  readonly verdict: 'killed' | 'survived' | 'broken'
  readonly detail: string
  readonly seconds: number
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COPIED = ['src', 'test', 'bin', 'package.json', 'tsconfig.json', 'tsconfig.test.json', 'vitest.config.ts']
/** A mutant may hang what it breaks. */
const PATIENCE_MS = 120_000

/** Each mutant in turn, in a private copy of the sources; the copy without a mutant must pass. */
export async function runMutants(
  chosen: readonly Mutant[] = MUTANTS,
  onResult: (result: MutantResult) => void = () => {},
): Promise<MutantResult[]> {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-mutants-'))
  try {
    for (const name of COPIED) cpSync(join(ROOT, name), join(dir, name), { recursive: true })
    for (const name of ['node_modules', 'dist']) symlinkSync(join(ROOT, name), join(dir, name))
    const tests = await openTests(dir)
    try {
      await mustPass(tests, chosen)
      const results: MutantResult[] = []
      for (const mutant of chosen) {
        const result = await tryMutant(dir, tests, mutant)
        results.push(result)
        onResult(result)
      }
      return results
    } finally {
      await tests.close()
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function tryMutant(dir: string, tests: Tests, mutant: Mutant): Promise<MutantResult> {
  const { name, file, find, replace } = mutant
  const began = performance.now()
  const end = (verdict: MutantResult['verdict'], detail = ''): MutantResult => {
    return { name, file, verdict, detail, seconds: (performance.now() - began) / 1000 }
  }
  const path = join(dir, file)
  const source = readFileSync(path, 'utf8')
  const places = source.split(find).length - 1
  if (places !== 1) return end('broken', `the line occurs in the file ${places} times`)
  const write = (text: string) => {
    writeFileSync(path, text)
    tests.changed(path)
  }
  try {
    write(source.replace(find, () => replace))
    const { failed, passed, errors } = await tests.run(mutant.tests.map((test) => ({ file: test, only: mutant.only })))
    if (failed > 0) return end('killed')
    // No test of that name, or a file that cannot be loaded: nobody has looked at the mutant.
    return passed > 0 && errors === '' ? end('survived') : end('broken', errors || 'no test was run')
  } finally {
    write(source)
  }
}

/**
 * What fails without a mutant would kill all of them. All in one run: with one for each file, half of the time went into starting processes
 * and loading the same modules again.
 */
async function mustPass(tests: Tests, chosen: readonly Mutant[]): Promise<void> {
  const names = new Map<string, Set<string | undefined>>()
  for (const { tests: files, only } of chosen)
    for (const file of files) names.set(file, (names.get(file) ?? new Set()).add(only))
  const choice = [...names].map(([file, only]) => ({
    file,
    only: only.has(undefined) ? undefined : [...only].join('|'),
  }))
  const { failed, passed, errors, failures } = await tests.run(choice)
  if (failed > 0 || passed === 0 || errors !== '')
    throw new Error(`the tests fail without a mutant\n${errors}${failures}`)
}

/** A test file, and a pattern of the names of its tests if a part is enough. */
interface Choice {
  readonly file: string
  readonly only: string | undefined
}

interface Tests {
  /** A file that will be read again. */
  changed(path: string): void
  run(choices: readonly Choice[]): Promise<TestRun>
  close(): Promise<void>
}

interface TestRun {
  readonly failed: number
  readonly passed: number
  /** Files that could not be loaded. */
  readonly errors: string
  readonly failures: string
}

/** One Vitest for all mutants: starting it takes four times as long as most of them do. */
async function openTests(dir: string): Promise<Tests> {
  const open = () => createVitest('test', { root: dir, watch: false, bail: 1, reporters: [{}], maxWorkers: 1 })
  let vitest = await open()
  const hung = async (): Promise<TestRun> => {
    await vitest.close()
    vitest = await open()
    return { failed: 1, passed: 0, errors: '', failures: 'a test hung' }
  }
  return {
    changed: (path) => vitest.invalidateFile(path),
    async run(choices) {
      const specifications = await Promise.all(choices.map((choice) => specificationsOf(vitest, choice)))
      const over = new AbortController()
      const run = vitest.runTestSpecifications(specifications.flat(), false)
      const late = sleep(PATIENCE_MS, null, { signal: over.signal }).catch(() => null)
      const result = await Promise.race([run, late])
      if (result === null) return hung()
      over.abort()
      const all = result.testModules.flatMap((module) => [...module.children.allTests()])
      const count = (state: 'failed' | 'passed') => all.filter((test) => test.result().state === state).length
      const errors = result.testModules.flatMap((module) => module.errors().map(({ message }) => message))
      const failures = all.flatMap((test) =>
        (test.result().errors ?? []).map(({ message }) => `${test.fullName}: ${message}`),
      )
      return {
        failed: count('failed'),
        passed: count('passed'),
        errors: errors.join('\n'),
        failures: failures.join('\n'),
      }
    },
    close: () => vitest.close(),
  }
}

async function specificationsOf(vitest: Vitest, { file, only }: Choice): Promise<TestSpecification[]> {
  const found = await vitest.globTestSpecifications([file])
  if (found.length !== 1) throw new Error(`${file} names ${found.length} test files`)
  return found.map(({ project, moduleId }) =>
    project.createSpecification(moduleId, only === undefined ? {} : { testNamePattern: new RegExp(only) }),
  )
}
