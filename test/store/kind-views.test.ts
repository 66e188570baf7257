import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { SqliteDb } from '../../src/sqlite/db.js'
import { schemaColumns, withObserved } from '../../src/store/export/schema-columns.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { kindViewsContract } from '../contract/kind-views-contract.js'
import { sqliteStoreOn } from '../support/sqlite-store.js'

kindViewsContract('sqlite', async () => {
  const db = new SqliteDb(':memory:')
  migrateStore(db)
  const store = sqliteStoreOn(db)
  return {
    store,
    schema: '',
    async select(sql) {
      if (!sql.startsWith('SELECT')) {
        db.exec(sql)
        return []
      }
      const view = /FROM (\w+)/.exec(sql)?.[1] ?? ''
      const names = db.prepare(`SELECT name FROM pragma_table_info('${view}')`).all().flat()
      const cells = names.map((_, place) => `c${place}`)
      // Integers that SqliteDb refuses to read as numbers are fine in a view: other programs have them.
      const readable = cells.map(
        (cell) => `iif(typeof(${cell}) = 'integer' AND abs(${cell}) >> 53, ${cell} || '', ${cell})`,
      )
      const rows = db.prepare(`WITH v (${cells.join()}) AS (${sql}) SELECT ${readable.join()} FROM v`).all()
      return rows.map((row) => Object.fromEntries(names.map((name, place) => [String(name), row[place]])))
    },
    close: () => store.close(),
  }
})

describe('columns of a schema', () => {
  it('are those of its JSON Schema, without what only a check can know', () => {
    const schema = z.object({
      ...{ title: z.string(), price: z.number().optional(), stock: z.int().nullable(), ok: z.boolean().default(true) },
      ...{
        at: z.iso.datetime(),
        tags: z.array(z.string()),
        size: z.enum(['s', 'm']),
        either: z.union([z.string(), z.number()]),
      },
      ...{
        count: z.union([z.int(), z.number()]),
        maybe: z.string().or(z.null()),
        date: z.coerce.date(),
        any: z.unknown(),
      },
      ...{ trimmed: z.string().transform((text) => text.length), nested: z.object({ a: z.string() }) },
    })
    expect(Object.fromEntries((schemaColumns(schema) ?? []).map(({ field, type }) => [field, type]))).toEqual({
      ...{
        title: 'text',
        price: 'number',
        stock: 'integer',
        ok: 'boolean',
        at: 'timestamp',
        tags: 'json',
        size: 'text',
      },
      ...{ either: 'json', count: 'number', maybe: 'text', date: null, any: null, trimmed: null, nested: 'json' },
    })
  })

  it('are filled up from the records where the schema does not tell', () => {
    const told = schemaColumns(z.object({ date: z.coerce.date(), any: z.unknown(), title: z.string() })) ?? []
    const observed = [
      { field: 'date', type: 'timestamp' },
      { field: 'title', type: 'json' },
    ] as const
    expect(withObserved(told, observed)).toEqual([
      { field: 'date', type: 'timestamp' },
      { field: 'any', type: 'json' },
      { field: 'title', type: 'text' },
    ])
  })

  it('are unknown for a library that cannot say, and for data that is no object', () => {
    const silent = { '~standard': { version: 1, vendor: 'mine', validate: (value: unknown) => ({ value }) } } as const
    expect(schemaColumns(silent)).toBeNull()
    expect(schemaColumns(z.string())).toBeNull()
    expect(schemaColumns(z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]))).toBeNull()
  })
})
