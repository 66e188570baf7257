import { describe, expect, it } from 'vitest'
import { declaredType, isXml, mediaTypeOf } from '../../src/fetch/media-type.js'
import { bodyOf, DOCUMENT_CASES, headersOf } from './document-cases.js'

const NOSNIFF = { 'x-content-type-options': 'NoSniff, x' }
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]

describe('mediaTypeOf', () => {
  it.each(DOCUMENT_CASES)('is what Chromium sees: $name', (document) => {
    expect(mediaTypeOf({ headers: headersOf(document), body: bodyOf(document) })).toBe(
      document.shoal?.type ?? document.type,
    )
  })

  // Chromium downloads these and shows no document.
  it.each<[string, Record<string, string>, string | readonly number[], string]>([
    ['binary as text', { 'content-type': 'text/plain' }, [1, 2, 3, 0], 'application/octet-stream'],
    [
      'binary as text in Latin-1',
      { 'content-type': 'text/plain; charset=ISO-8859-1' },
      PNG,
      'application/octet-stream',
    ],
    ['binary as text, another spelling', { 'content-type': 'text/plain;charset=utf-8' }, [1, 2, 3, 0], 'text/plain'],
    ['binary as text, nosniff', { 'content-type': 'text/plain', ...NOSNIFF }, [1, 2, 3, 0], 'text/plain'],
    ['binary as HTML', { 'content-type': 'text/html' }, PNG, 'text/html'],
    ['an image without a type', {}, PNG, 'image/png'],
    ['a PDF without a type', {}, '%PDF-1.7', 'application/pdf'],
    ['a zip file without a type', {}, 'PK\u0003\u0004', 'application/zip'],
    ['gzip as anything', { 'content-type': '*/*' }, [0x1f, 0x8b, 8], 'application/x-gzip'],
    ['a feed without a type', {}, '<?xml version="1.0"?><rss/>', 'text/xml'],
    ['a feed', { 'content-type': 'application/rss+xml' }, '<rss/>', 'application/rss+xml'],
    ['HTML as anything, nosniff', { 'content-type': '*/*', ...NOSNIFF }, '<html>', 'text/plain'],
    ['JSON', { 'content-type': 'application/json' }, '<html>', 'application/json'],
    ['an empty body', {}, '', 'text/plain'],
  ])('%s', (_, headers, body, type) => {
    expect(mediaTypeOf({ headers, body: typeof body === 'string' ? Buffer.from(body) : Buffer.from(body) })).toBe(type)
  })
})

it('says which types only the body tells', () => {
  expect(['text/html; charset=x', 'application/unknown', 'nonsense', undefined].map(declaredType)).toEqual([
    'text/html',
    null,
    null,
    null,
  ])
})

it('knows the types of XML', () => {
  expect(['text/xml', 'application/xml', 'image/svg+xml', 'text/html', 'application/json'].map(isXml)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ])
})
