import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
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

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Each mutant in turn, in a private copy of the sources; the copy without a mutant must pass. */
export async function runMutants(
  chosen: readonly Mutant[] = MUTANTS,
  onResult: (result: MutantResult) => void = () => {},
): Promise<MutantResult[]> {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-mutants-'))
  try {
    for (const name of COPIED) cpSync(join(ROOT, name), join(dir, name), { recursive: true })
    for (const name of ['node_modules', 'dist']) symlinkSync(join(ROOT, name), join(dir, name))
    const clean = await vitest(
      dir,
      [...new Set(chosen.flatMap(({ tests }) => tests))],
      chosen.every(({ only }) => only !== undefined) ? chosen.map(({ only }) => only ?? '').join('|') : undefined,
    )
    if (clean.code !== 0) throw new Error(`the tests fail without a mutant:\n${clean.output.slice(-4_000)}`)
    const results: MutantResult[] = []
    for (const mutant of chosen) {
      const result = await tryMutant(dir, mutant)
      results.push(result)
      onResult(result)
    }
    return results
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function tryMutant(dir: string, { name, file, find, replace, tests, only }: Mutant): Promise<MutantResult> {
  const began = performance.now()
  const end = (verdict: MutantResult['verdict'], detail = ''): MutantResult => {
    return { name, file, verdict, detail, seconds: (performance.now() - began) / 1000 }
  }
  const path = join(dir, file)
  const source = readFileSync(path, 'utf8')
  const places = source.split(find).length - 1
  if (places !== 1) return end('broken', `the line stands in the file ${places} times`)
  try {
    writeFileSync(
      path,
      source.replace(find, () => replace),
    )
    const { code, output, failed } = await vitest(dir, tests, only)
    if (code === 0) return end('survived')
    return failed ? end('killed') : end('broken', output.slice(-1_000))
  } finally {
    writeFileSync(path, source)
  }
}

interface TestRun {
  readonly code: number | null
  readonly output: string
  /** A test failed or hung, rather than the run itself. */
  readonly failed: boolean
}

function vitest(dir: string, tests: readonly string[], only: string | undefined): Promise<TestRun> {
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...tests, '--bail', '1', '--no-color']
  if (only !== undefined) args.push('-t', only)
  // A run of its own, also when it is started from inside of another.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_ENV|TEST)/.test(name)))
  const child = spawn(process.execPath, args, { cwd: dir, env: { ...env, CI: '1' } })
  running.add(child)
  let output = ''
  const read = (chunk: Buffer) => {
    output += chunk
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  let hung = false
  const late = setTimeout(() => {
    hung = true
    child.kill('SIGKILL')
  }, PATIENCE_MS)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(late)
      running.delete(child)
      resolve({ code, output, failed: hung || /Tests .*\d+ failed/.test(output) })
    })
  })
}
