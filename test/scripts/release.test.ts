import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { tempDir } from '../support/cli.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CHANGELOG = '# Changelog\n\n## Unreleased\n\n- New: a.\n- New: b.\n'

describe('npm run release', () => {
  const dir = tempDir('release')
  afterAll(() => dir.remove())
  let repo: string
  let number = 0

  const git = (...args: string[]) => execFileSync('git', args, { cwd: repo, encoding: 'utf8' }).trim()
  const contents = (file: string) => readFileSync(join(repo, file), 'utf8')
  const release = (...args: string[]) => {
    const program = [join(ROOT, 'node_modules/jiti/lib/jiti-cli.mjs'), join(ROOT, 'scripts/release.ts')]
    const { status, stdout, stderr } = spawnSync(process.execPath, [...program, ...args], {
      cwd: repo,
      encoding: 'utf8',
    })
    return { status, said: stdout + stderr }
  }

  beforeEach(() => {
    repo = join(dir.path, String(++number))
    mkdirSync(repo)
    const manifest = { name: 'shoal', version: '0.1.0' }
    writeFileSync(join(repo, 'package.json'), JSON.stringify(manifest))
    const lockfile = { ...manifest, lockfileVersion: 3, requires: true, packages: { '': manifest } }
    writeFileSync(join(repo, 'package-lock.json'), JSON.stringify(lockfile))
    writeFileSync(join(repo, 'CHANGELOG.md'), CHANGELOG)
    writeFileSync(join(repo, '.gitignore'), '*.tgz\n')
    git('init', '--quiet', '--initial-branch', 'main')
    git('config', 'user.name', 'Test')
    git('config', 'user.email', 'test@example.com')
    git('add', '.')
    git('commit', '--quiet', '--message', 'Start')
  })

  it('--dry-run says what would happen and changes nothing', () => {
    const before = git('rev-parse', 'HEAD')
    const { status, said } = release('minor', '--dry-run')
    expect(said).toContain('Would run .ci/run, set version 0.2.0 (now 0.1.0), pack, commit and tag v0.2.0.')
    expect(said).toContain('- New: a.\n- New: b.')
    expect(status).toBe(0)
    expect([git('rev-parse', 'HEAD'), git('status', '--porcelain'), git('tag')]).toEqual([before, '', ''])
  })

  it('sets the version everywhere, cuts the changelog, packs, commits and tags', () => {
    const { status, said } = release('minor', '--skip-tests')
    expect(said).toContain('git push --follow-tags')
    expect(status).toBe(0)
    expect(JSON.parse(contents('package.json'))).toMatchObject({ version: '0.2.0' })
    expect(JSON.parse(contents('package-lock.json'))).toMatchObject({
      version: '0.2.0',
      packages: { '': { version: '0.2.0' } },
    })
    expect(contents('CHANGELOG.md')).toMatch(/## Unreleased\n\n## 0\.2\.0 \(\d{4}-\d\d-\d\d\)\n\n- New: a\./)
    expect(existsSync(join(repo, 'shoal-0.2.0.tgz'))).toBe(true)
    expect(git('log', '-1', '--format=%s')).toBe('Release 0.2.0')
    expect(git('rev-parse', 'v0.2.0^{commit}')).toBe(git('rev-parse', 'HEAD'))
    expect(git('status', '--porcelain')).toBe('')
    expect(release('0.2.0', '--dry-run')).toMatchObject({ status: 1, said: expect.stringContaining('nothing under') })
  })

  it('restores the files when packing fails', () => {
    writeFileSync(join(repo, 'package.json'), '{"name":"shoal","version":"0.1.0","scripts":{"prepack":"exit 1"}}')
    git('commit', '--quiet', '--all', '--message', 'Broken build')
    expect(release('patch', '--skip-tests').status).toBe(1)
    expect([git('status', '--porcelain'), git('tag'), git('log', '-1', '--format=%s')]).toEqual([
      '',
      '',
      'Broken build',
    ])
  })

  it('refuses a tree that is not clean, another branch, a tag that exists and a command line it does not understand', () => {
    const refused = (...args: string[]) => release(...args, '--dry-run', '--skip-tests')
    git('tag', 'v0.1.1')
    expect(refused('patch')).toMatchObject({
      status: 1,
      said: expect.stringContaining('the tag v0.1.1 already exists'),
    })
    writeFileSync(join(repo, 'new.txt'), '')
    expect(refused('minor')).toMatchObject({ status: 1, said: expect.stringContaining('not clean') })
    git('switch', '--quiet', '--create', 'topic')
    expect(refused('minor')).toMatchObject({ status: 1, said: expect.stringContaining('from main, not from topic') })
    expect(refused('--no-such-option').status).toBe(2)
    expect(refused().status).toBe(2)
    expect(release('--help')).toMatchObject({ status: 0, said: expect.stringContaining('--dry-run') })
  })
})
