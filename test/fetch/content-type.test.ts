import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MIMEType } from 'whatwg-mimetype'
import { readContentType } from '../../src/fetch/content-type.js'

describe('readContentType', () => {
  // The examples of "extract a MIME type" in the Fetch standard, and more of the kind.
  it.each<[string | undefined, string | null, string]>([
    [undefined, null, ''],
    ['', null, ''],
    ['text/html', 'text/html', ''],
    ['TEXT/HTML;CHARSET=UTF-8', 'text/html', 'utf-8'],
    ['text/plain;charset=gbk, text/html', 'text/html', ''],
    ['text/html;charset=gbk;a=b, text/html;x=y', 'text/html', 'gbk'],
    ['text/html;charset=gbk, x/x, text/html;x=y', 'text/html', ''],
    ['text/html, cannot-parse', 'text/html', ''],
    ['text/html, */*', 'text/html', ''],
    ['text/html, ', 'text/html', ''],
    ['text/html;x=",text/plain"', 'text/html', ''],
    ['text/html;x="\\",text/plain"', 'text/html', ''],
    ['text/html;x=",text/plain', 'text/html', ''],
    ['text/html;charset="shift_jis"iso-2022-jp', 'text/html', 'shift_jis'],
    ['text/html; charset=', 'text/html', ''],
    ['text/html (comment)', 'text/html', ''],
    ['text/html charset=utf-8', 'text/html', ''],
    ['text/', null, ''],
    ['/html', null, ''],
    ['*/*', null, ''],
    ['charset=utf-8', null, ''],
    ['\u0000', null, ''],
  ])('%j', (header, essence, charset) => {
    expect(readContentType(header)).toEqual({ essence, charset })
    expect(readContentType(header)).toEqual({ essence, charset })
  })

  it('reads nothing into a header of any length', () => {
    expect(readContentType(`text/html;${' '.repeat(500)}charset=utf-8`)).toEqual({
      essence: 'text/html',
      charset: 'utf-8',
    })
    expect(readContentType(`text/html;${' '.repeat(2_000)}charset=utf-8`)).toEqual({ essence: null, charset: '' })
  })

  it('reads a plain header as the parser of the standard does', () => {
    const token = fc.string({ unit: fc.constantFrom(...'aZ09.+-_!/; ="'), maxLength: 8 })
    const header = fc.tuple(token, token, token).map(([type, subtype, label]) => `${type}/${subtype}; charset=${label}`)
    fc.assert(
      fc.property(header, (text) => {
        const type = MIMEType.parse(text)
        if (type === null) return
        const charset = type.parameters.get('charset')?.toLowerCase() ?? ''
        expect(readContentType(text)).toEqual({ essence: type.essence, charset })
      }),
    )
  })
})
