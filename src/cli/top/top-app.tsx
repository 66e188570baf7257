import { Box, type Key as InkKey, Text, useApp, useInput, useStdout } from 'ink'
import { useEffect, useRef, useState } from 'react'
import type { Clock } from '../../clock.js'
import { asShoalError, isAway } from '../../errors.js'
import type { Style } from '../terminal/style.js'
import { type Seen, screenOf } from './top-screen.js'
import type { Snapshots } from './top-snapshot.js'
import { FIRST_STATE, type Key, type Order, press, type TopState } from './top-state.js'

export interface TopParts {
  readonly snapshots: Snapshots
  readonly clock: Clock
  readonly everyMs: number
  readonly where: string
  readonly style: Style
  /** Carries out a confirmed order and returns the message to show. */
  readonly carryOut: (order: Extract<Order, { kind: 'set' }>) => Promise<string>
}

export function Top({ snapshots, clock, everyMs, where, style, carryOut }: TopParts) {
  const app = useApp()
  const size = useSize()
  const [seen, setSeen] = useState<Seen>({ snapshot: null, failure: null })
  const [state, setState] = useState(FIRST_STATE)
  // Keys that arrive together are handled one by one, each on the state that the one before it left.
  const latest = useRef({ state: FIRST_STATE, seen })
  const refreshNow = useRef<() => void>(() => {})
  const show = (next: TopState) => {
    latest.current.state = next
    setState(next)
  }

  useEffect(() => {
    const stopped = new AbortController()
    const watch = async () => {
      while (!stopped.signal.aborted) {
        const next = await snapshotUnlessDown(snapshots, latest.current.seen)
        if (stopped.signal.aborted) return
        latest.current.seen = next
        setSeen(next)
        const nap = new AbortController()
        refreshNow.current = () => nap.abort()
        await clock.sleep(everyMs, AbortSignal.any([nap.signal, stopped.signal]))
      }
    }
    watch().catch((error: unknown) => app.exit(asShoalError(error)))
    return () => stopped.abort()
  }, [snapshots, clock, everyMs, app])

  const obey = async (order: Order) => {
    if (order.kind === 'quit') return app.exit()
    try {
      show({ ...latest.current.state, notice: await carryOut(order) })
    } catch (thrown) {
      const { code, message } = asShoalError(thrown)
      show({ ...latest.current.state, notice: `${code}: ${message}` })
    }
    refreshNow.current()
  }

  useInput((input, inkKey) => {
    for (const key of keysOf(input, inkKey)) {
      const { state: next, order } = press(latest.current.state, key, latest.current.seen.snapshot)
      show(next)
      if (order !== null) void obey(order)
    }
  })

  return (
    <Box flexDirection="column" width={size.columns}>
      <Text>{screenOf(state, seen, { ...size, where, style }).join('\n')}</Text>
    </Box>
  )
}

/** Watching continues while the queue is down. */
async function snapshotUnlessDown(snapshots: Snapshots, { snapshot }: Seen): Promise<Seen> {
  try {
    return { snapshot: await snapshots.take(), failure: null }
  } catch (thrown) {
    if (!isAway(thrown)) throw thrown
    return { snapshot, failure: asShoalError(thrown) }
  }
}

function useSize(): { readonly columns: number; readonly rows: number } {
  const { stdout } = useStdout()
  const read = () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 })
  const [size, setSize] = useState(read)
  useEffect(() => {
    const resized = () => setSize({ columns: stdout.columns || 80, rows: stdout.rows || 24 })
    stdout.on('resize', resized)
    return () => void stdout.off('resize', resized)
  }, [stdout])
  return size
}

/** Letters that arrive together are separate key presses. */
function keysOf(input: string, key: InkKey): Key[] {
  const named = namedKey(key)
  if (named !== null) return [{ letter: '', named }]
  if (key.ctrl || key.meta) return []
  return [...input].map((letter) => ({ letter, named: null }))
}

function namedKey(key: InkKey): Key['named'] {
  if (key.upArrow) return 'up'
  if (key.downArrow) return 'down'
  if (key.pageUp) return 'pageUp'
  if (key.pageDown) return 'pageDown'
  if (key.home) return 'home'
  if (key.end) return 'end'
  if (key.tab) return key.shift ? 'backTab' : 'tab'
  if (key.return) return 'enter'
  if (key.escape) return 'escape'
  return key.backspace || key.delete ? 'rub' : null
}
