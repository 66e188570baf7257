import { expect, it } from 'vitest'
import { loadConfig } from '../../src/config.js'
import { addressLines, surprisingAddressLines } from '../../src/run/address-lines.js'

const both = { REDIS_URL: 'redis://:s3cret@queue:6379', DATABASE_URL: 'postgres://anna:s3cret@db/app' }

it('says which address came from which variable, without passwords, and how to choose others', () => {
  const settings = loadConfig({ flags: {}, env: both })
  expect(addressLines(settings)).toEqual([
    'queue redis://:***@queue:6379 (from REDIS_URL), records postgres://anna:***@db/app (from DATABASE_URL); set SHOAL_QUEUE and SHOAL_STORE to choose others',
  ])
  expect(surprisingAddressLines(settings)).toEqual(addressLines(settings))
})

it('names the default and the flag next to a variable', () => {
  expect(addressLines(loadConfig({ flags: {}, env: { SHOAL_QUEUE: 'redis://queue' } }))).toEqual([
    'queue redis://queue (from SHOAL_QUEUE), records sqlite:.shoal/shoal.db (default)',
  ])
  expect(
    addressLines(loadConfig({ flags: { queue: 'redis://q' }, env: { SHOAL_STORE: 'postgres://db/shoal' } })),
  ).toEqual(['queue redis://q (from --queue), records postgres://db/shoal (from SHOAL_STORE)'])
})

it('is silent about defaults and flags, and a command that reads about Shoal’s own variables', () => {
  expect(addressLines(loadConfig({ flags: {}, env: {} }))).toEqual([])
  expect(addressLines(loadConfig({ flags: { queue: 'redis://q' }, env: {} }))).toEqual([])
  expect(surprisingAddressLines(loadConfig({ flags: {}, env: { SHOAL_QUEUE: 'redis://q' } }))).toEqual([])
})

it('says that an address of another kind is ignored, without showing it', () => {
  const settings = loadConfig({
    flags: {},
    env: { DATABASE_URL: 'mysql://anna:s3cret@db/app', REDIS_URL: 'queue:6379' },
  })
  expect(addressLines(settings)).toEqual([
    'REDIS_URL is ignored: it is not a redis:// address',
    'DATABASE_URL is ignored: it is not a postgres:// address',
  ])
  expect(surprisingAddressLines(settings)).toEqual([])
})
