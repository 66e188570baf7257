import { count, percent } from '../format.js'

export interface BarPart {
  readonly name: string
  readonly value: number
  /** One of the link states, for its colour. */
  readonly tone: 'done' | 'dead' | 'skipped' | 'leased' | 'queued' | 'delayed'
}

/** A whole and its parts. The parts are also given as text, in the legend or the label. */
export function StackedBar({ parts, label }: { readonly parts: readonly BarPart[]; readonly label: string }) {
  const total = parts.reduce((sum, part) => sum + part.value, 0)
  const shown = parts.filter((part) => part.value > 0).map((part) => `${count(part.value)} ${part.name}`)
  return (
    <div class="stacked" role="img" aria-label={`${label}: ${shown.join(', ') || 'nothing yet'}`}>
      {parts
        .filter((part) => part.value > 0)
        .map((part) => (
          <span
            key={part.name}
            class={`fill ${part.tone}`}
            style={{ flexGrow: part.value / total }}
            title={`${count(part.value)} ${part.name}`}
          />
        ))}
    </div>
  )
}

export function Legend({ parts }: { readonly parts: readonly BarPart[] }) {
  return (
    <ul class="legend">
      {parts.map((part) => (
        <li key={part.name} class={part.value === 0 ? 'none' : undefined}>
          <span class={`swatch ${part.tone}`} aria-hidden="true" />
          <span>{part.name}</span> <b>{count(part.value)}</b>
        </li>
      ))}
    </ul>
  )
}

export interface ShareBarProps {
  readonly name: string
  /** 0 … 1 */
  readonly share: number
  readonly text?: string
  readonly tone?: 'ok' | 'warn' | 'bad' | 'calm'
}

/** One line: a name, a bar and a value. */
export function ShareBar({ name, share, text = percent(share), tone = 'calm' }: ShareBarProps) {
  const width = Math.max(0, Math.min(1, share))
  return (
    <li class="share">
      <bdi class="share-name clip" title={name}>
        {name}
      </bdi>
      <span class="share-track" aria-hidden="true">
        <span class={`share-fill ${tone}`} style={{ width: `${width * 100}%` }} />
      </span>
      <span class="share-text">{text}</span>
    </li>
  )
}
