import { describe, expect, it } from 'vitest'
import { asShoalError } from '../src/errors.js'
import { limitIn, limitText, tooFewFiles } from '../src/open-files.js'

describe('the limit of open files', () => {
  it('is the soft one of the process', () => {
    const line = 'Max open files            64                   4096                 files     '
    expect(limitIn(`Limit                     Soft Limit           Hard Limit           Units\n${line}\n`)).toBe(64)
    expect(limitIn('Max open files            unlimited            unlimited            files')).toBeNull()
    expect(limitIn('')).toBeNull()
  })

  it('is judged by what is to be done, with both numbers', () => {
    expect(tooFewFiles('start', 64)).toBe(
      'this process may have 64 files and sockets open, and a command needs at least 128',
    )
    expect(tooFewFiles('crawl', 200)).toContain('a crawl needs at least 256')
    for (const limit of [null, 256, 1_048_576]) expect(tooFewFiles('crawl', limit)).toBeNull()
    expect(limitText(200)).toContain('200 files')
    expect(limitText(null)).toBe('')
  })

  it('that is reached later is no bug in Shoal', () => {
    for (const code of ['EMFILE', 'ENFILE'])
      expect(asShoalError(Object.assign(new Error(`${code}: too many open files`), { code }))).toMatchObject({
        code: 'no_sockets',
        exitCode: 4,
      })
    const evil = Object.defineProperty(new Error('x'), 'code', {
      get() {
        throw new Error('no')
      },
    })
    expect(asShoalError(evil).code).toBe('internal')
  })
})
