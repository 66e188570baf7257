import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { markdownFileName, writeMarkdownFolder } from '../../src/cli/export/markdown-folder.js'
import type { StoredRecord } from '../../src/store/record-store.js'

it.each([
  ['https://docs.example/', /^docs\.example\/index\.md$/],
  ['https://docs.example/guide/intro.html', /^docs\.example\/guide\/intro\.md$/],
  ['http://docs.example:8080/a', /^docs\.example-8080\/a\.md$/],
  ['https://docs.example/a?page=2', /^docs\.example\/a-[0-9a-f]{8}\.md$/],
  ['https://docs.example/..%2f..%2fetc/passwd', /^docs\.example\/-2f\.\.-2fetc\/passwd-[0-9a-f]{8}\.md$/],
  ['https://docs.example/a.md/b', /^docs\.example\/a-md\/b\.md$/],
  ['https://docs.example/.git/config', /^docs\.example\/git\/config-[0-9a-f]{8}\.md$/],
  ['https://docs.example/%E6%97%A5', /^docs\.example\/-E6-97-A5-[0-9a-f]{8}\.md$/],
  [`https://docs.example/${'x'.repeat(500)}`, /^docs\.example\/x{80}-[0-9a-f]{8}\.md$/],
  [`https://docs.example/${'d/'.repeat(40)}e`, /^docs\.example(?:\/d){11}\/e-[0-9a-f]{8}\.md$/],
])('names the file of %s', (url, name) => {
  expect(markdownFileName(url)).toMatch(name)
})

it('writes one file per page, with front matter, and none over another', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'shoal-markdown-'))
  const record = (url: string, data: unknown) => ({ url, data }) as StoredRecord
  async function* records() {
    yield record('https://docs.example/a', {
      url: 'https://docs.example/a',
      title: 'A "b": c',
      published: null,
      markdown: '# A\n',
    })
    yield record('https://docs.example/A', { markdown: 'other' })
    yield record('https://docs.example/a.html', { markdown: 'third' })
    yield record('https://docs.example/b', { title: 'no Markdown' })
  }
  try {
    expect(await writeMarkdownFolder(records(), folder)).toBe(3)
    const files = await readdir(join(folder, 'docs.example'))
    expect(new Set(files.map((name) => name.toLowerCase())).size).toBe(3)
    expect(await readFile(join(folder, 'docs.example/a.md'), 'utf8')).toBe(
      '---\nurl: "https://docs.example/a"\ntitle: "A \\"b\\": c"\n---\n\n# A\n',
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
