import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { tempDir } from './support/cli.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const dir = tempDir('bench')
afterAll(() => dir.remove())

/** npm asks a registry only for what the lockfile leaves open: offline and with an empty cache, a gap is an error. */
describe.each(['.', 'bench'])('the lockfile of %s', (folder) => {
  it('has an entry for every package of the manifest, on every platform', () => {
    const copy = join(dir.path, folder, 'lockfile')
    mkdirSync(copy, { recursive: true })
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(ROOT, folder, file), join(copy, file))
    const args = ['ci', '--dry-run', '--offline', '--ignore-scripts', '--cache', join(dir.path, 'empty-cache')]
    expect(execFileSync('npm', args, { cwd: copy, encoding: 'utf8', stdio: 'pipe' })).toMatch(/added \d+ packages/)
  })

  it('names no registry, so that it installs from any', () => {
    expect(readFileSync(join(ROOT, folder, 'package-lock.json'), 'utf8')).not.toContain('"resolved"')
  })
})

it('every bench that --help names is there', () => {
  const help = execFileSync(process.execPath, [join(ROOT, 'bench/run.js'), '--help'], { encoding: 'utf8' })
  const names = [...help.matchAll(/^ {2}([a-z][a-z-]*) /gm)].map(([, name]) => name)
  expect(names).toContain('crawl')
  expect(names.filter((name) => !existsSync(join(ROOT, `bench/${name}.js`)))).toEqual([])
})
