import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { linesOf } from '../../src/discovery/lines.js'
import { textPieces } from '../../src/discovery/seed-file.js'
import { tempDir } from '../support/cli.js'

const dir = tempDir('lines')
afterAll(() => dir.remove())

const read = async (pieces: AsyncIterable<string>) => {
  const entries: string[] = []
  for await (const entry of linesOf(pieces)) entries.push(entry)
  return entries
}
async function* piecesOf(text: string, size: number) {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size)
}

describe('lines of seeds', () => {
  it('are the same however they come', async () => {
    const text = '\uFEFFhttps://a.example/1\r\n# not this\n\n  {"url":"x\u2028y"} \rlast'
    for (const size of [1, 2, 7, 1_000])
      expect(await read(piecesOf(text, size))).toEqual(['https://a.example/1', '{"url":"x\u2028y"}', 'last'])
  })

  it('are not kept without end, nor read from what is no file', async () => {
    const endless = 'x'.repeat(1_100_000)
    await expect(read(piecesOf(endless, 65_536))).rejects.toMatchObject({ code: 'seeds_unreadable' })
    const file = join(dir.path, 'urls.txt')
    writeFileSync(file, 'a\nb')
    expect(await read(textPieces(file))).toEqual(['a', 'b'])
    mkdirSync(join(dir.path, 'folder'))
    await expect(read(textPieces(join(dir.path, 'folder')))).rejects.toMatchObject({ code: 'seeds_unreadable' })
  })
})
