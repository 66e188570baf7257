import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createSpool } from '../../src/discovery/spool.js'
import { unpack } from '../../src/discovery/unpack.js'

async function* pieces(bytes: Buffer, size = bytes.length) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function unpacked(bytes: Buffer, encoding = '', size?: number, cap?: number): Promise<string> {
  const all: Buffer[] = []
  for await (const piece of unpack(pieces(bytes, size), encoding, cap)) all.push(piece)
  return Buffer.concat(all).toString()
}

const TEXT = 'https://a.example/1\n'.repeat(1_000)

describe('unpacking a file', () => {
  it.each([
    ['plain', Buffer.from(TEXT), ''],
    ['gzip by the header', gzipSync(TEXT), 'gzip'],
    ['gzip by its first bytes alone', gzipSync(TEXT), ''],
    ['a .gz that travels as gzip once more', gzipSync(gzipSync(TEXT)), 'gzip'],
    ['brotli', brotliCompressSync(TEXT), 'br'],
    ['two layers', brotliCompressSync(gzipSync(TEXT)), 'gzip, br'],
    ['deflate', deflateSync(TEXT), 'Deflate'],
    ['empty', Buffer.alloc(0), ''],
  ])('%s', async (name, bytes, encoding) => {
    for (const size of [1, 100, bytes.length + 1])
      expect(await unpacked(bytes, encoding, size)).toBe(name === 'empty' ? '' : TEXT)
  })

  it('says what is wrong', async () => {
    await expect(unpacked(gzipSync(TEXT).subarray(0, 30))).rejects.toMatchObject({ code: 'decode_error' })
    await expect(unpacked(Buffer.from(TEXT), 'gzip')).rejects.toMatchObject({ code: 'decode_error' })
    await expect(unpacked(gzipSync(TEXT), 'gzip, gzip, gzip')).rejects.toMatchObject({ code: 'decode_error' })
    await expect(unpacked(Buffer.from(TEXT), 'rot13')).rejects.toMatchObject({ code: 'decode_error' })
  })

  it('cuts a bomb without ever holding it', async () => {
    const bomb = gzipSync(gzipSync(Buffer.alloc(64 * 1024 * 1024)))
    expect(bomb.length).toBeLessThan(20_000)
    let largest = 0
    const read = async () => {
      for await (const piece of unpack(pieces(bomb), 'gzip', 8 * 1024 * 1024)) largest = Math.max(largest, piece.length)
    }
    await expect(read()).rejects.toMatchObject({ code: 'too_large' })
    expect(largest).toBeLessThan(256 * 1024)
  })
})

describe('a spool', () => {
  it('gives back what was written, as often as one likes, under a name that follows the content', async () => {
    const [one, same, other] = [createSpool(), createSpool(), createSpool()]
    for (let n = 0; n < 1_000; n++) one.write(Buffer.from(`${n}\n`.repeat(100)))
    for (let n = 0; n < 1_000; n++) same.write(Buffer.from(`${n}\n`.repeat(100)))
    other.write(Buffer.from('x'))
    const read = async () => {
      const all: Buffer[] = []
      for await (const piece of one.read()) all.push(piece)
      return Buffer.concat(all).toString()
    }
    const text = Array.from({ length: 1_000 }, (_, n) => `${n}\n`.repeat(100)).join('')
    expect(await read()).toBe(text)
    expect(await read()).toBe(text)
    expect(one.digest()).toBe(same.digest())
    expect(one.digest()).not.toBe(other.digest())
    for (const spool of [one, same, other]) spool.close()
    expect(await read()).toBe('')
  })
})
