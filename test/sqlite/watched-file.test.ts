import { expect, it } from 'vitest'
import { type FileMark, fileChange } from '../../src/sqlite/watched-file.js'

const opened: FileMark = { dev: 1n, ino: 7n, size: 4_096n }

it.each([
  ['the same file, grown', { ...opened, size: 8_192n }, null],
  ['the same file after a VACUUM of another program', { ...opened, size: 1_024n }, null],
  ['no file', null, 'deleted'],
  ['another inode', { ...opened, ino: 8n }, 'replaced'],
  ['the same inode on another device', { ...opened, dev: 2n }, 'replaced'],
  ['an inode that differs in its highest bits only', { ...opened, ino: 7n + 2n ** 60n }, 'replaced'],
  ['nothing in it any more', { ...opened, size: 0n }, 'emptied'],
])('%s', (_, now, change) => {
  expect(fileChange(opened, now)).toBe(change)
})

it('a log that was written back and cut to nothing is the same', () => {
  const log = { ...opened, size: 0n }
  expect(fileChange(log, log)).toBeNull()
})
