import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startBrowser } from '../support/dashboard.js'
import { type Answers, type Document, SELECTORS, SEPARATOR } from './answers.js'

/** Chromium with the scripts of pages switched off, as a reader of documents. */
export interface Chromium {
  readonly version: string
  /** Where every document is served, so that both sides resolve links against the same URL. */
  readonly url: string
  /** As a response with its bytes and headers. */
  load(document: Document): Promise<Answers>
  /** Many at once, as texts. */
  parse(texts: readonly string[]): Promise<readonly Answers[]>
  close(): Promise<void>
}

export async function openChromium(): Promise<Chromium> {
  let served: Document | null = null
  const server = createServer((request, response) => {
    if (served === null || request.url !== PATH) return void response.writeHead(404).end()
    response.writeHead(200, served.contentType === null ? {} : { 'content-type': served.contentType })
    response.end(served.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`
  const browser = await startBrowser()
  const context = await browser.newContext({ javaScriptEnabled: false })
  // What a document refers to is not fetched: only the document itself matters, and a refresh must not lead away from it.
  await context.route('**', (route) => (route.request().url() === url ? route.continue() : route.abort()))
  const page = await context.newPage()
  const collect = (documents: readonly string[] | null): Promise<Answers[]> =>
    page.evaluate(`(${IN_PAGE})(${JSON.stringify({ documents, selectors: SELECTORS, separator: SEPARATOR })})`)

  return {
    version: browser.version(),
    url,
    async load(document) {
      served = document
      await page.goto(url, { waitUntil: 'domcontentloaded' })
      return (await collect(null))[0] as Answers
    },
    async parse(texts) {
      if (page.url() !== url) {
        served = { name: 'empty', contentType: 'text/html', body: new Uint8Array() }
        await page.goto(url)
      }
      return collect(texts)
    },
    async close() {
      await browser.close()
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Without its comment and the semicolon before it, it is one expression. */
const IN_PAGE = readFileSync(new URL('in-page.js', import.meta.url), 'utf8').replace(/^[^;]*;/, '')
const PATH = '/dir/page.html?q=1'
