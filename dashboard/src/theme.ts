import { makeStore } from './store.js'

/** `auto`: the system's setting. */
export type Theme = 'auto' | 'light' | 'dark'
const KEPT_AS = 'shoal-theme'
const NEXT: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' }

export const theme = makeStore<Theme>('auto')

export function takeTheme(): void {
  const kept = localStorage.getItem(KEPT_AS)
  show(kept === 'light' || kept === 'dark' ? kept : 'auto')
}

export function nextTheme(): void {
  const next = NEXT[theme.get()]
  localStorage.setItem(KEPT_AS, next)
  show(next)
}

function show(value: Theme): void {
  document.documentElement.dataset.theme = value
  theme.set(value)
}
