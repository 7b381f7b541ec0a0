"""Lee, Viégas and Wattenberg 2026, binding as a bilinear form: probes of what stands at which place of a sample."""
