import { useEffect, useRef, useState } from 'preact/hooks'
import { useLive } from '../live.js'

/** The queue's time, which may differ from this machine's, updated every second: for ages and countdowns. */
export function useQueueTime(): number {
  const { overview } = useLive()
  const ahead = useRef(0)
  const received = useRef<number | null>(null)
  if (overview !== null && overview.now !== received.current) {
    received.current = overview.now
    ahead.current = overview.now - Date.now()
  }
  const [, setTick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setTick((before) => before + 1), 1_000)
    return () => clearInterval(timer)
  }, [])
  return Date.now() + ahead.current
}
