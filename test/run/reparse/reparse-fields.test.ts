import { describe, expect, it } from 'vitest'
import { changedFields } from '../../../src/run/reparse/reparse-fields.js'

describe('fields that a reparse would change', () => {
  it('are told by what becomes of them', () => {
    const before = { same: [1, { a: 2 }], price: null, title: 'Tome', stock: '3', tags: ['a'], sku: 'x', gone: 1 }
    const after = { same: [1, { a: 2 }], price: 12.5, title: ' ', stock: 3, tags: ['b'], sku: 'y', extra: true }
    const turns = changedFields(before, after).map(({ field, turn }) => [field, turn])
    expect(Object.fromEntries(turns)).toEqual({
      price: 'filled',
      title: 'emptied',
      stock: 'retyped',
      tags: 'changed',
      sku: 'changed',
      gone: 'emptied',
      extra: 'filled',
    })
  })

  it('are none when only the order differs; one kind of empty that became another is a change', () => {
    expect(changedFields({ a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 })).toEqual([])
    expect(changedFields({ a: '' }, { a: null })).toEqual([{ field: 'a', turn: 'changed', before: '', after: null }])
    expect(changedFields({ a: null }, {})).toEqual([{ field: 'a', turn: 'changed', before: null, after: undefined }])
  })

  it('are the whole record when it is no object', () => {
    expect(changedFields('old', 'old')).toEqual([])
    expect(changedFields([1], { a: 1 })).toEqual([{ field: '', turn: 'retyped', before: [1], after: { a: 1 } }])
  })
})
