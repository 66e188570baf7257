import type { ComponentChildren } from 'preact'

export interface ButtonProps {
  readonly children: ComponentChildren
  readonly onClick?: () => void
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet'
  readonly small?: boolean
  readonly busy?: boolean
  readonly disabled?: boolean
  readonly submit?: boolean
  /** For screen readers, if the text alone is ambiguous: `Pause shop-2`. */
  readonly label?: string
  readonly title?: string
}

export function Button(props: ButtonProps) {
  const { children, onClick, kind = 'plain', small = false, busy = false, disabled = false, submit = false } = props
  return (
    <button
      type={submit ? 'submit' : 'button'}
      class={`button ${kind}${small ? ' small' : ''}`}
      onClick={onClick}
      disabled={disabled || busy}
      aria-busy={busy}
      aria-label={props.label}
      title={props.title}
    >
      {children}
    </button>
  )
}
