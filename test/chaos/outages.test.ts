import { expect, it } from 'vitest'
import type { SeenAccess } from '../support/access-log.js'
import type { HistoryEvent } from './history.js'
import { outagesOf } from './outages.js'

function event(tMono: number, op: HistoryEvent['op'], fields: Partial<HistoryEvent> = {}): HistoryEvent {
  return { tMono, tWall: tMono, proc: 'a', op, phase: 'ok', id: 'http://h:1/p/1', epoch: '1:1', host: '', ...fields }
}

function access(t: number, path = '/p/1'): SeenAccess {
  const plain = { end: t, status: 200, bytes: 0, host: 'h', method: 'GET', n: 1, run: 1, conn: 1, ua: '' }
  return { ...plain, t, early: t, path }
}

it('measures from the fault to the heal, and from there to the first commit and to the end of what had waited', () => {
  const history = [
    event(0, 'lease'),
    event(5, 'lease', { id: 'http://h:1/p/2' }),
    event(10, 'fault', { fault: 'away', phase: 'info' }),
    event(20, 'fault', { fault: 'kill', target: 'b', phase: 'info' }),
    event(60, 'write', { phase: 'info' }),
    event(110, 'heal', { phase: 'info' }),
    event(130, 'lease', { id: 'http://h:1/p/3', epoch: '1:2' }),
    event(140, 'write'),
    event(150, 'settle'),
    event(170, 'settle', { id: 'http://h:1/p/2' }),
    event(500, 'settle', { id: 'http://h:1/p/3', epoch: '1:2' }),
  ]
  const accesses = [access(1), access(15), access(50, '/robots.txt'), access(120)]
  expect(outagesOf(history, accesses)).toEqual([
    { awayMs: 100, fetched: 1, firstCommitMs: 30, waiting: 1, caughtUpMs: 40 },
  ])
})
