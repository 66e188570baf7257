import { Icon, type Shape } from './icon.js'

type Tone = 'ok' | 'go' | 'warn' | 'bad' | 'calm'

/** States of crawls, links, workers and alerts, each with a shape as well as a colour. */
const STATES: Readonly<Record<string, readonly [Tone, Shape, string?]>> = {
  running: ['go', 'play'],
  paused: ['warn', 'pause'],
  cancelled: ['calm', 'stop'],
  finished: ['ok', 'check'],
  queued: ['calm', 'ring'],
  delayed: ['warn', 'clock'],
  leased: ['go', 'play', 'in flight'],
  done: ['ok', 'check'],
  dead: ['bad', 'cross'],
  skipped: ['calm', 'skip'],
  unknown: ['calm', 'ring'],
  working: ['go', 'play'],
  idle: ['calm', 'ring'],
  draining: ['warn', 'clock'],
  missing: ['bad', 'warn'],
  silent: ['bad', 'cross'],
  ok: ['ok', 'check'],
  warn: ['warn', 'warn', 'warning'],
  critical: ['bad', 'warn'],
  blocked: ['bad', 'stop'],
  resting: ['warn', 'clock'],
}

export function StateBadge({ state, text }: { readonly state: string; readonly text?: string }) {
  const [tone, shape, word] = STATES[state] ?? (['calm', 'dot'] as const)
  return (
    <span class={`badge ${tone}`}>
      <Icon shape={shape} size={11} />
      {text ?? word ?? state}
    </span>
  )
}
