import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeText, decodeUtf8 } from '../../src/fetch/charset.js'
import { runs } from '../support/longer.js'
import { bodyOf, DOCUMENT_CASES, headersOf } from './document-cases.js'

const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'utf8') : Buffer.from(part))))

const decoded = (body: Uint8Array, contentType: string | undefined) =>
  decodeText({ body, headers: contentType === undefined ? {} : { 'content-type': contentType } })

describe('decodeText', () => {
  it.each<[string, Uint8Array, string | undefined, string, string]>([
    ['ASCII', bytes('abc'), 'text/html; charset=utf-8', 'abc', 'UTF-8'],
    ['ASCII that nobody declares', bytes('abc'), 'text/html', 'abc', 'windows-1252'],
    ['header', bytes([0xe9]), 'text/html; charset=ISO-8859-1', 'é', 'windows-1252'],
    ['the euro of windows-1252', bytes([0x80]), 'text/html; charset=windows-1252', '€', 'windows-1252'],
    ['quoted header', bytes('é'), 'text/html; Charset="UTF8"', 'é', 'UTF-8'],
    ['BOM before header', bytes([0xef, 0xbb, 0xbf], 'é'), 'text/html; charset=latin1', 'é', 'UTF-8'],
    ['BOM and header agree', bytes([0xef, 0xbb, 0xbf], 'a'), 'text/html; charset=utf-8', 'a', 'UTF-8'],
    ['UTF-16 BOM', bytes([0xff, 0xfe, 0x61, 0x00]), undefined, 'a', 'UTF-16LE'],
    ['UTF-16 by header', bytes([0x61, 0x00]), 'text/html; charset=utf-16le', 'a', 'UTF-16LE'],
    ['header before meta', bytes('<meta charset=gbk>é'), 'text/html; charset=utf-8', '<meta charset=gbk>é', 'UTF-8'],
    ['meta', bytes('<meta charset=gbk>', [0xc4, 0xe3]), 'text/html', '<meta charset=gbk>你', 'GBK'],
    ['nothing, valid UTF-8', bytes('é'), 'text/html', 'é', 'UTF-8'],
    ['nothing, not UTF-8', bytes([0xe9]), 'text/html', 'é', 'windows-1252'],
    ['UTF-7 is no encoding', bytes('+ADw-é'), 'text/html; charset=utf-7', '+ADw-é', 'UTF-8'],
    ['unknown label', bytes('é'), 'text/html; charset=klingon', 'é', 'UTF-8'],
    [
      'meta means nothing in JSON',
      bytes('"<meta charset=gbk>é"'),
      'application/json',
      '"<meta charset=gbk>é"',
      'UTF-8',
    ],
    [
      'ISO-2022-JP by meta',
      bytes('<meta charset=iso-2022-jp>', [0x1b, 0x24, 0x42, 0x24, 0x22, 0x1b, 0x28, 0x42]),
      'text/html',
      '<meta charset=iso-2022-jp>あ',
      'ISO-2022-JP',
    ],
  ])('%s', (_, body, contentType, text, encoding) => {
    expect(decoded(body, contentType)).toEqual({ text, encoding, replaced: 0 })
  })

  it.each(DOCUMENT_CASES)('has the encoding that Chromium sees: $name', (document) => {
    const { encoding } = decodeText({ body: bodyOf(document), headers: headersOf(document) })
    expect(encoding).toBe(document.shoal?.encoding ?? document.encoding)
  })

  it('searches a page of 1 MB for a declaration in a time that does not depend on what it contains', () => {
    const pieces = [
      '<',
      '<!--',
      '</',
      '<meta ',
      '<meta a=',
      '<meta charset',
      '<script>',
      '</script',
      '<a "',
      "<title>'",
      ' ',
      '<link =',
    ]
    for (const piece of pieces) {
      const body = Buffer.from(piece.repeat(Math.floor(1_000_000 / piece.length)))
      const before = process.cpuUsage()
      decoded(body, 'text/html')
      const { user, system } = process.cpuUsage(before)
      expect((user + system) / 1000, piece).toBeLessThan(500)
    }
  })

  it('counts what it had to replace', () => {
    expect(decoded(bytes('a', [0xff], 'b', [0xfe]), 'text/html; charset=utf-8')).toMatchObject({ replaced: 2 })
  })

  it('decodes UTF-8 piecewise as Node does in one go', () => {
    const run = fc.oneof(
      fc.nat({ max: 1100 }).map((length) => Buffer.alloc(length, 'a')),
      fc.string({ unit: 'binary', maxLength: 20 }).map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 12 }).map((list) => Buffer.from(list)),
      fc.nat({ max: 600 }).map((length) => Buffer.alloc(length, 0x80)),
    )
    fc.assert(
      fc.property(
        fc.array(run, { maxLength: 12 }).map((runs) => Buffer.concat(runs)),
        (body) => {
          expect(decodeUtf8(body)).toBe(body.toString('utf8'))
        },
      ),
      { numRuns: runs(500) },
    )
  })

  it('never throws, whatever header and body say', () => {
    const label = fc.constantFrom(
      'utf-8',
      'utf-7',
      'replacement',
      'iso-2022-kr',
      'x-user-defined',
      'gb18030',
      'shift_jis',
      'utf-16',
      '\u0000',
      '',
    )
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), label, fc.boolean(), (body, name, html) => {
        decoded(body, `${html ? 'text/html' : 'text/plain'}; charset=${name}`)
      }),
    )
  })
})
