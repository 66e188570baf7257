import { request } from 'node:http'
import { PAGE_READERS } from '../fuzz/readers.js'
import { allPages } from '../oracle/pages/all.js'
import { startBadServer } from '../support/bad-server.js'
import { cpuMs } from '../support/cpu-time.js'
import { misbehave } from './site.js'

/** CPU time that a page may take for each 100 KB; less than 100 KB counts as so much. */
export const BAR_MS = 250

export interface PageCost {
  readonly page: string
  readonly reader: string
  readonly kb: number
  readonly msPer100Kb: number
}

const PATHS = [
  ...['/nested', '/nested-inline', '/unclosed', '/attribute', '/attributes', '/foreign', '/many-links', '/json-ld'],
  ...['/entities.xml', '/gbk', '/utf-16', '/invalid-utf-8'],
]

/** Every page of the corpus and of the oracle's tables through everything that reads pages; the costliest first. */
export async function measureCpu(): Promise<PageCost[]> {
  const site = await startBadServer({ otherwise: misbehave })
  const pages: { name: string; body: Buffer }[] = allPages().map(({ name, body }) => ({
    name,
    body: Buffer.from(body),
  }))
  try {
    for (const path of PATHS) pages.push({ name: path, body: await bodyOf(site.origin + path) })
  } finally {
    await site.close()
  }
  const costs = pages.flatMap(({ name, body }) =>
    Object.entries(PAGE_READERS).map(([reader, read]) => {
      const ms = Math.min(
        cpuMs(() => read(body)),
        cpuMs(() => read(body)),
      )
      const kb = body.length / 1_000
      return { page: name, reader, kb, msPer100Kb: (ms / Math.max(kb, 100)) * 100 }
    }),
  )
  return costs.sort((a, b) => b.msPer100Kb - a.msPer100Kb)
}

function bodyOf(url: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    request(url, { agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve(Buffer.concat(chunks)))
      response.on('error', reject)
    })
      .on('error', reject)
      .end()
  })
}
