import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startBrowser } from '../support/dashboard.js'
import { LINKS_IN_ENCODINGS } from '../url/links-in-encodings.js'
import { bodyOf, DOCUMENT_CASES } from './document-cases.js'

/** Keeps the tables honest that other tests hold Shoal to: Chromium itself gives the answers. */

const server = createServer((request, response) => {
  const [, kind = '', index = '0'] = (request.url ?? '').split('/')
  if (kind === 'link') {
    const { encoding = '' } = LINKS_IN_ENCODINGS[Number(index)] ?? {}
    return response.writeHead(200, { 'content-type': `text/html; charset=${encoding}` }).end('<a>1</a>')
  }
  const document = DOCUMENT_CASES[Number(index)]
  if (kind !== 'document' || document === undefined) return response.writeHead(404).end()
  const { header, nosniff } = document
  const headers = (header === null ? [] : [header].flat()).flatMap((value) => ['content-type', value])
  if (nosniff) headers.push('x-content-type-options', 'nosniff')
  return response.writeHead(200, headers).end(bodyOf(document))
})
let browser: Browser
let page: Page
let origin: string

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  browser = await startBrowser()
  page = await browser.newPage()
}, 60_000)

afterAll(async () => {
  await browser.close()
  server.closeAllConnections()
  server.close()
})

it('sees the encodings and types of the documents', async () => {
  const seen: string[] = []
  for (const index of DOCUMENT_CASES.keys()) {
    await page.goto(`${origin}/document/${index}`)
    seen.push(String(await page.evaluate('document.characterSet + " " + document.contentType')))
  }
  expect(DOCUMENT_CASES.map(({ name }, index) => `${name}: ${seen[index]}`)).toEqual(
    DOCUMENT_CASES.map(({ name, encoding, type }) => `${name}: ${encoding} ${type}`),
  )
}, 60_000)

it('encodes the queries of the links', async () => {
  for (const [index, { encoding, text, query }] of LINKS_IN_ENCODINGS.entries()) {
    await page.goto(`${origin}/link/${index}`)
    const link = JSON.stringify(`/p/${text}?q=${text}#${text}`)
    const href = await page.evaluate(`Object.assign(document.querySelector('a'), { href: ${link} }).href`)
    expect(href, encoding).toBe(`${origin}/p/${encodeURI(text)}?q=${query}#${encodeURI(text)}`)
  }
}, 60_000)
