import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { missingIgnores, packageName } from '../../src/cli/init/project.js'
import { shoalSpec } from '../../src/cli/init/shoal-spec.js'
import { lastJson, tempDir } from '../support/cli.js'
import { shoal } from './cli.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
vi.setConfig({ testTimeout: 60_000 })
const dir = tempDir('init')
afterAll(() => dir.remove())

const FILES = ['.gitignore', 'books.test.ts', 'books.ts', 'fixtures', 'package.json', 'tsconfig.json']

/** As `npm install` does with a folder. */
function install(project: string): void {
  mkdirSync(join(project, 'node_modules', '@types'), { recursive: true })
  symlinkSync(ROOT, join(project, 'node_modules', 'shoal'))
  for (const name of ['zod', '@types/node'])
    symlinkSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name))
}

describe('shoal init', () => {
  it('creates a project whose test passes offline, whose types are right and whose saved page is read right', async () => {
    const { code, out } = await shoal(['init', 'my spiders'], { cwd: dir.path })
    expect(code).toBe(0)
    const project = join(dir.path, 'my spiders')
    expect(readdirSync(project).sort()).toEqual(FILES)
    for (const line of [
      "cd 'my spiders'",
      'npm install',
      'npm test',
      'npx shoal run books.ts',
      'npx shoal check books.ts',
    ])
      expect(out).toContain(`    ${line}\n`)
    install(project)
    const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...env } = process.env
    const tested = execFileSync('sh', ['-c', scripts.test ?? 'false'], { cwd: project, encoding: 'utf8', env })
    expect(tested).toMatch(/^# pass 2$/m)
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
    execFileSync(process.execPath, [tsc, '--noEmit'], { cwd: project })
    const checked = await shoal(['check', 'books.ts', '--json'], { cwd: project })
    expect(checked.code).toBe(0)
    expect(lastJson(checked.out)).toMatchObject({
      spiders: [{ spider: { name: 'books', warnings: [], skipped: [] }, fixtures: [{ state: 'ok' }] }],
    })
  })

  it('keeps every file that exists, and prints what they lack as commands', async () => {
    const project = join(dir.path, 'existing')
    mkdirSync(project)
    const manifest = '{ "name": "mine", "scripts": { "test": "vitest" }, "dependencies": { "zod": "^4.0.0" } }'
    writeFileSync(join(project, 'package.json'), manifest)
    writeFileSync(join(project, '.gitignore'), 'node_modules')
    writeFileSync(join(project, 'tsconfig.json'), '{}')
    const { code, out } = await shoal(['init'], { cwd: project })
    expect(code).toBe(0)
    expect(readFileSync(join(project, 'package.json'), 'utf8')).toBe(manifest)
    expect(readFileSync(join(project, '.gitignore'), 'utf8')).toBe('node_modules')
    expect(out).toContain('kept    package.json')
    const commands = out.split('\n').filter((line) => line.startsWith('    '))
    expect(commands.filter((line) => /npm install \S/.test(line))).toEqual([
      expect.stringMatching(/^ {4}npm install shoal@file:\S+ '@types\/node@\^\S+'$/),
    ])
    expect(commands).toContain("    npm pkg set 'scripts.check=shoal check books.ts'")
    expect(commands).toContain("    printf '\\n%s\\n' .shoal/ >> .gitignore")
    expect(commands.filter((line) => line.includes('scripts.test'))).toEqual([])
    execFileSync('sh', ['-c', (commands.find((line) => line.includes('printf')) ?? '').trim()], { cwd: project })
    expect(missingIgnores(readFileSync(join(project, '.gitignore'), 'utf8'))).toEqual([])
  })

  it('does not write over a spider, nor where it cannot write', async () => {
    const project = join(dir.path, 'old')
    mkdirSync(project)
    writeFileSync(join(project, 'books.ts'), 'mine')
    const again = await shoal(['init', 'old', '--json'], { cwd: dir.path })
    expect(again.code).toBe(2)
    expect(readdirSync(project)).toEqual(['books.ts'])
    writeFileSync(join(dir.path, 'file'), '')
    const onFile = await shoal(['init', 'file'], { cwd: dir.path })
    expect(onFile).toMatchObject({ code: 4, err: expect.stringContaining('out_unwritable') })
  })
})

describe('the project that init creates', () => {
  it('depends on the Shoal that created it', () => {
    const at = (...parts: string[]) => join(dir.path, 'spec', ...parts)
    const project = (name: string, spec: string) => {
      const root = at(name, 'node_modules', 'shoal')
      mkdirSync(root, { recursive: true })
      writeFileSync(at(name, 'package.json'), JSON.stringify({ devDependencies: { shoal: spec } }))
      return root
    }
    // A clone, inside which the new project may be.
    expect(shoalSpec(at('clone'), at('new'))).toBe('file:../clone')
    expect(shoalSpec(at('clone'), at('clone', 'my-spiders'))).toBe('file:..')
    // The tarball of the project that installed it, a registry, and a global installation.
    expect(shoalSpec(project('tar', 'file:../shoal-0.1.0.tgz'), at('tar', 'my-spiders'))).toBe(
      'file:../../shoal-0.1.0.tgz',
    )
    expect(shoalSpec(project('dot', './shoal.tgz'), at('dot'))).toBe('file:./shoal.tgz')
    expect(shoalSpec(project('registry', '^0.1.0'), at('new'))).toBe('^0.1.0')
    expect(shoalSpec(at('lib', 'node_modules', 'shoal'), at('new'))).toBe('file:../lib/node_modules/shoal')
  })

  it('has a name that npm allows', () => {
    expect(['My Spiders!', 'a_b', '日本', 'shoal', '.x'].map(packageName)).toEqual([
      'my-spiders',
      'a-b',
      'spiders',
      'spiders',
      'x',
    ])
  })
})
