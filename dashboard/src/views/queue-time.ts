import { useEffect, useRef, useState } from 'preact/hooks'
import { useLive } from '../live.js'

/** The time of the queue, which need not be this machine's, moving on every second: for ages and countdowns. */
export function useQueueTime(): number {
  const { overview } = useLive()
  const ahead = useRef(0)
  const heard = useRef<number | null>(null)
  if (overview !== null && overview.now !== heard.current) {
    heard.current = overview.now
    ahead.current = overview.now - Date.now()
  }
  const [, setTick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setTick((before) => before + 1), 1_000)
    return () => clearInterval(timer)
  }, [])
  return Date.now() + ahead.current
}
