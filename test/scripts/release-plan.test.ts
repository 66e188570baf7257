import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { cutChangelog, nextVersion } from '../../scripts/release-plan.js'

const CHANGELOG = '# Changelog\n\n## Unreleased\n\n- New: a.\n- New: b.\n\n## 0.1.0 (2026-01-02)\n\nFirst.\n'

describe('the next version', () => {
  it.each([
    ['major', '2.0.0'],
    ['minor', '1.3.0'],
    ['patch', '1.2.4'],
    ['1.2.3', '1.2.3'],
    ['1.10.0', '1.10.0'],
  ])('%s of 1.2.3 is %s', (wanted, next) => {
    expect(nextVersion('1.2.3', wanted)).toBe(next)
  })

  it.each(['1.2.2', '0.9.9', '1.2', 'v1.3.0', '1.3.0-beta', ''])('is not %s', (wanted) => {
    expect(() => nextVersion('1.2.3', wanted)).toThrow(/lower than|is not major/)
  })
})

describe('the changelog', () => {
  it('moves what is unreleased under the version, and keeps the rest', () => {
    expect(cutChangelog(CHANGELOG, '0.2.0', '2026-03-04')).toEqual({
      text: '# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-03-04)\n\n- New: a.\n- New: b.\n\n## 0.1.0 (2026-01-02)\n\nFirst.\n',
      notes: '- New: a.\n- New: b.',
    })
  })

  it('may have no earlier version', () => {
    const { text } = cutChangelog('# Changelog\n\n## Unreleased\n\n- New: a.\n', '0.1.0', '2026-03-04')
    expect(text).toBe('# Changelog\n\n## Unreleased\n\n## 0.1.0 (2026-03-04)\n\n- New: a.\n')
  })

  it('must have something to release', () => {
    expect(() => cutChangelog('# Changelog\n', '0.2.0', '')).toThrow('no section')
    expect(() => cutChangelog('## Unreleased\n\n## 0.1.0\n\n- New: a.\n', '0.2.0', '')).toThrow('nothing under')
  })

  it('of this repository can be cut', () => {
    expect(readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8')).toContain('\n## Unreleased\n')
  })
})
