//! What hackbench asks for.
