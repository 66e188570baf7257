import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { tempDir } from '../support/cli.js'
import { previousBuild } from './previous-build.js'

const dir = tempDir('previous-build')
afterAll(() => dir.remove())

describe('the version to upgrade from', () => {
  it('is a folder that is built', () => {
    expect(() => previousBuild(dir.path)).toThrow(/is not built: run npm ci && npm run build in it/)
    mkdirSync(join(dir.path, 'dist/cli'), { recursive: true })
    writeFileSync(join(dir.path, 'dist/cli/main.js'), '')
    expect(previousBuild(dir.path)).toBe(dir.path)
  })

  it('is a commit of this clone; otherwise the message says how to get it', () => {
    for (const name of ['0'.repeat(40), 'v9999.0.0', '--output=x'])
      expect(() => previousBuild(name)).toThrow(
        /this clone has no commit .* git fetch --unshallow --tags, or pass --from/,
      )
  })
})
