import { expect, it } from 'vitest'
import { Busy } from '../../src/politeness/busy.js'
import { withProxy } from '../../src/worker/with-proxy.js'
import { HOLDS_NOTHING, innermost, type Setting, sendingOf, visitParts } from './visit-parts.js'

async function pass(spider: Setting['spider'], held = HOLDS_NOTHING) {
  const { parts, leased } = visitParts({ ...(spider && { spider }) })
  const { layer, seen } = innermost()
  const answer = await withProxy(layer)(sendingOf(leased(), parts), held)
  return { answer, seen }
}

it('adds nothing for a spider without proxies', async () => {
  const { seen } = await pass({})
  expect(seen[0]).toBe(HOLDS_NOTHING)
})

it('adds a proxy of the pool that the spider names', async () => {
  const { seen } = await pass({ proxy: 'dc' })
  expect(seen[0]?.lent?.grant).toMatchObject({ need: { pool: { name: 'dc' }, host: 'site.test', site: 'site.test' } })
})

it('takes the proxy that the request is bound to, and no other', async () => {
  const { seen } = await pass({ proxy: 'dc' })
  const ids = seen[0]?.lent?.grant.need.pool.proxies.map(({ id }) => id) ?? []
  expect(ids).toHaveLength(2)
  for (const stay of ids) {
    const bound = await pass({ proxy: 'dc' }, { ...HOLDS_NOTHING, stay })
    expect(bound.seen[0]?.lent?.grant.proxy.id).toBe(stay)
  }
})

it('goes out directly on a route that opts out', async () => {
  const page = { match: '/**', proxy: false, handler() {} } as const
  const { seen } = await pass({ proxy: 'dc', routes: { page, other: { match: '/other' } } })
  expect(seen[0]?.lent?.grant.proxy.via).toEqual({ by: 'direct' })
})

it('passes on that there is none, and nothing is sent', async () => {
  const { answer, seen } = await pass({ proxy: 'elsewhere' })
  expect(answer).toBeInstanceOf(Busy)
  expect(seen).toEqual([])
})

it('uses the proxy of the attempt before while its grant is fresh, and asks again when it is not', async () => {
  const { parts, leased } = visitParts({ spider: { proxy: 'dc' } })
  const { layer, seen } = innermost()
  const sending = sendingOf(leased(), parts)
  await withProxy(layer)(sending, HOLDS_NOTHING)
  const lent = seen[0]?.lent ?? null
  if (lent === null) throw new Error('no proxy was lent')
  await withProxy(layer)(sending, { ...HOLDS_NOTHING, lent })
  expect(seen[1]?.lent).toBe(lent)

  const ends: unknown[] = []
  const old = { ...lent, granted: { ...lent.granted, forMs: -1 }, end: (how: unknown) => void ends.push(how) }
  await withProxy(layer)(sending, { ...HOLDS_NOTHING, lent: old })
  expect(ends).toEqual([null])
  expect(seen[2]?.lent).not.toBe(old)
})

it('gives the proxy back when what comes after it fails', async () => {
  const { parts, leased } = visitParts({ spider: { proxy: 'dc' } })
  const sending = sendingOf(leased(), parts)
  const broken = withProxy(() => Promise.reject(new Error('a defect')))
  await expect(broken(sending, HOLDS_NOTHING)).rejects.toThrow('a defect')
  const { layer, seen } = innermost()
  await withProxy(layer)(sendingOf(leased(), parts), HOLDS_NOTHING)
  expect(seen[0]?.lent).not.toBeNull()
})
